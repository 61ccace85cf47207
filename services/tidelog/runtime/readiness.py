"""Is this process ready to serve, and if not, what is it waiting for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that must hold before the process is ready; `why` says what is missing while it does not."""

    ok: bool
    why: str


class Readiness:
    """Named conditions; ready means that there is at least one and that all of them hold."""

    def __init__(self) -> None:
        self._conditions: dict[str, Condition] = {}
        self._listeners: list[Callable[[bool], None]] = []
        self._ready = False
        # What else /readyz tells, such as which controller is active.
        self.detail: dict[str, object] = {}

    @property
    def ready(self) -> bool:
        return self._ready

    @property
    def conditions(self) -> dict[str, Condition]:
        return dict(self._conditions)

    @property
    def reasons(self) -> dict[str, str]:
        """What is missing, by condition; empty when ready."""
        return {name: condition.why for name, condition in self._conditions.items() if not condition.ok}

    def expect(self, name: str, waiting_for: str) -> None:
        """Declare a condition that does not hold yet."""
        self._set(name, Condition(ok=False, why=waiting_for))

    def ok(self, name: str) -> None:
        """The condition holds from now on."""
        assert name in self._conditions, f"readiness condition {name!r} was never expected"
        self._set(name, Condition(ok=True, why=""))

    def not_ready(self, name: str, why: str) -> None:
        """The condition holds no more."""
        assert name in self._conditions, f"readiness condition {name!r} was never expected"
        self._set(name, Condition(ok=False, why=why))

    def on_change(self, listener: Callable[[bool], None]) -> Callable[[], None]:
        """Call `listener(ready)` whenever readiness flips; the returned function ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def report(self) -> dict[str, object]:
        """The content of /readyz."""
        conditions = {name: _described(condition) for name, condition in self._conditions.items()}
        return {"ready": self._ready, "conditions": conditions, **({"detail": self.detail} if self.detail else {})}

    def _set(self, name: str, condition: Condition) -> None:
        self._conditions[name] = condition
        ready = all(each.ok for each in self._conditions.values())
        if ready != self._ready:
            self._ready = ready
            for listener in tuple(self._listeners):
                listener(ready)


def _described(condition: Condition) -> dict[str, object]:
    return {"ok": True} if condition.ok else {"ok": False, "why": condition.why}
