"""Which partition a record goes to.

The default is sticky for records without a key (one partition until its batch is full, then another at random), and by
hash of the key for the rest. A partitioner that only looks at keys is any callable `(topic, key, partitions, available)`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tidelog.client.core.murmur2 import partition_of_key
from tidelog.client.errors import WrongArgumentError

# Takes a bound and gives a number from 0 up to it; randomness comes from outside.
Choose = Callable[[int], int]
# What a user may pass as `partitioner`.
PartitionerFunction = Callable[[str, bytes | None, Sequence[int], Sequence[int]], int]


@dataclass(frozen=True, slots=True)
class TopicShape:
    """A topic as a partitioner sees it."""

    name: str
    count: int
    # Partitions with a leader; all of them if none has one, since a record must go somewhere.
    available: tuple[int, ...]
    # Those whose leader runs in the client's rack; empty if it names none.
    near: tuple[int, ...] = ()
    all: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "all", tuple(range(self.count)))


class Partitioner(Protocol):
    """Chooses partitions. `on_new_batch` is told when a record without a key did not fit the batch of its partition."""

    def partition(self, shape: TopicShape, key: bytes | None) -> int: ...

    def on_new_batch(self, shape: TopicShape, previous: int) -> None: ...


class StickyPartitioner:
    """Records without a key stay on one partition for a batch; the others follow their key."""

    def __init__(self, choose: Choose, *, by_rack: bool = False) -> None:
        self._choose = choose
        self._by_rack = by_rack
        self._stuck: dict[str, int] = {}

    def partition(self, shape: TopicShape, key: bytes | None) -> int:
        if key is not None:
            return partition_of_key(key, shape.count)
        stuck = self._stuck.get(shape.name)
        if stuck is None or stuck >= shape.count:
            stuck = self._stuck[shape.name] = self._other(shape, -1)
        return stuck

    def on_new_batch(self, shape: TopicShape, previous: int) -> None:
        if self._stuck.get(shape.name, previous) == previous:
            self._stuck[shape.name] = self._other(shape, previous)

    def _other(self, shape: TopicShape, previous: int) -> int:
        candidates = (shape.near if self._by_rack else ()) or shape.available
        if previous in candidates and len(candidates) > 1:
            others = [each for each in candidates if each != previous]
            return others[self._choose(len(others))]
        return candidates[self._choose(len(candidates))]


class RoundRobinPartitioner:
    """One after the other, whatever the key."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def partition(self, shape: TopicShape, key: bytes | None) -> int:  # noqa: ARG002  keys do not matter here
        turn = self._next.get(shape.name, 0)
        self._next[shape.name] = turn + 1
        return shape.available[turn % len(shape.available)]

    def on_new_batch(self, shape: TopicShape, previous: int) -> None:
        """A turn is a record, not a batch."""


class RandomPartitioner:
    """Any partition, whatever the key."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose

    def partition(self, shape: TopicShape, key: bytes | None) -> int:  # noqa: ARG002  keys do not matter here
        return shape.available[self._choose(len(shape.available))]

    def on_new_batch(self, shape: TopicShape, previous: int) -> None:
        """Chance remembers nothing."""


class FunctionPartitioner:
    """What a user's function says, checked."""

    def __init__(self, function: PartitionerFunction) -> None:
        self._function = function

    def partition(self, shape: TopicShape, key: bytes | None) -> int:
        chosen = self._function(shape.name, key, shape.all, shape.available)
        if not isinstance(chosen, int) or not 0 <= chosen < shape.count:
            raise WrongArgumentError(
                f"partitioner: it gave {chosen!r} for topic {shape.name}, whose partitions are 0 to {shape.count - 1}"
            )
        return chosen

    def on_new_batch(self, shape: TopicShape, previous: int) -> None:
        """A function has its own idea of when to change."""


PARTITIONER_NAMES = ("sticky", "murmur2", "round-robin", "random", "by-rack")


def make_partitioner(wanted: str | PartitionerFunction, choose: Choose) -> Partitioner:
    """The partitioner of a name, or around a function. `murmur2` is another word for the default's way with keys."""
    if callable(wanted):
        return FunctionPartitioner(wanted)
    match wanted:
        case "sticky" | "murmur2":
            return StickyPartitioner(choose)
        case "by-rack":
            return StickyPartitioner(choose, by_rack=True)
        case "round-robin":
            return RoundRobinPartitioner()
        case "random":
            return RandomPartitioner(choose)
        case _:
            raise WrongArgumentError(
                f"partitioner: {wanted!r} is neither callable nor one of {', '.join(PARTITIONER_NAMES)}"
            )
