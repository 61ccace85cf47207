"""What a coordinator's decision is made of: records to make durable, and the answer that waits for them."""

from dataclasses import dataclass
from typing import Generic, TypeVar

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class CoordinatorRecord:
    """One record of an internal topic. Without a value it is a tombstone: what the key told is forgotten."""

    key: bytes
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Outcome(Generic[A]):
    """Append the records with acks=all, wait for their commit, `replay` each, then give the answer.

    Without records the answer is given at once.
    """

    records: tuple[CoordinatorRecord, ...]
    answer: A
