"""Where a partition's replicas are, and which of them come and go while it is reassigned."""

from dataclasses import dataclass
from typing import Self


def _without(ids: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(id for id in ids if id not in others)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The replicas in order of preference. Those in `adding` are not in `origin`, those in `removing` not in `target`."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_reassigned(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        return _without(self.replicas, self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        return _without(self.replicas, self.adding)

    def reassigned_to(self, target: tuple[int, ...]) -> Self:
        """On the way to `target`: its replicas come first, since the order is what survives of the target."""
        origin = self.origin
        replicas = tuple(dict.fromkeys((*target, *origin)))
        return type(self)(replicas, _without(replicas, origin), _without(replicas, target))

    def without(self, broker: int) -> Self:
        """The same assignment after this replica was taken away."""
        gone = (broker,)
        return type(self)(_without(self.replicas, gone), _without(self.adding, gone), _without(self.removing, gone))
