"""What values a setting allows, each with the words that tell a user so."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Check:
    """A condition on one value, and what it allows in words that continue "must be ..."."""

    accepts: Callable[[Any], bool]
    allowed: str


ANY = Check(lambda _value: True, "")
NOT_EMPTY = Check(bool, "not empty")


def at_least(low: float) -> Check:
    return Check(lambda value: value >= low, f"at least {low}")


def between(low: float, high: float) -> Check:
    return Check(lambda value: low <= value <= high, f"between {low} and {high}")


def one_of(*choices: str) -> Check:
    return Check(lambda value: value in choices, f"one of {', '.join(choices)}")


def all_of(*choices: str) -> Check:
    return Check(lambda values: set(values) <= set(choices), f"a list of {', '.join(choices)}")
