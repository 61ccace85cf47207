"""What is wrong with a configuration, all of it at once."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One setting's fault; `why` continues "name=value ...", `allowed` continues "must be ..."."""

    name: str
    value: str | None
    why: str
    allowed: str = ""

    def __str__(self) -> str:
        subject = self.name if self.value is None else f"{self.name}={self.value}"
        must = f": it must be {self.allowed}" if self.allowed else ""
        return f"{subject} {self.why}{must}"


class ConfigFaults(Exception):  # noqa: N818 - a list of faults, not one error
    """Raised instead of a configuration, with every fault that was found."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        assert self.faults, "there is no exception without a fault"
        super().__init__(self.faults)

    def __str__(self) -> str:
        return "; ".join(map(str, self.faults))
