"""Ranges of versions as schemas write them: "4+", "8-10", "12", or "" for no version at all."""

from dataclasses import dataclass
from functools import cache

VERSION_MAX = 32767


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions from `low` to `high`, both included; empty if `high` is below `low`."""

    low: int
    high: int

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def __str__(self) -> str:
        return f"{self.low}-{self.high}"


@cache
def parse_versions(text: str) -> Versions:
    if not text:
        return Versions(0, -1)
    if text.endswith("+"):
        return Versions(int(text[:-1]), VERSION_MAX)
    low, _, high = text.partition("-")
    return Versions(int(low), int(high or low))
