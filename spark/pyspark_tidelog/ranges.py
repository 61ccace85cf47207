"""Ranges of offsets: how many a trigger takes of each partition, and how big ones are cut for several tasks."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from pyspark.sql.datasource import InputPartition

from tidelog.client.records import TopicPartition


class OffsetRange(InputPartition):
    """What one task reads: offsets from `start` up to, and not including, `end`."""

    def __init__(self, topic: str, partition: int, start: int, end: int) -> None:
        super().__init__((topic, partition, start, end))
        self.topic = topic
        self.partition = partition
        self.start = start
        self.end = end

    @property
    def count(self) -> int:
        return self.end - self.start

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OffsetRange) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


class SharedTask(InputPartition):
    """Small ranges that one task reads one after the other: starting a task takes longer than reading them."""

    def __init__(self, ranges: Sequence[OffsetRange]) -> None:
        super().__init__(tuple(each.value for each in ranges))
        self.ranges = tuple(ranges)

    @property
    def count(self) -> int:
        return sum(each.count for each in self.ranges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedTask) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


def limited(
    starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], most: int
) -> dict[TopicPartition, int]:
    """Ends that together take about `most` offsets, shared by how much waits in each partition, at least one of each."""
    waiting = {each: max(0, end - starts.get(each, end)) for each, end in ends.items()}
    total = sum(waiting.values())
    if total <= most:
        return dict(ends)
    return {each: starts.get(each, ends[each]) + _share(waiting[each], total, most) for each in ends}


def _share(waiting: int, total: int, most: int) -> int:
    return min(waiting, max(1, waiting * most // total)) if waiting else 0


def cut(ranges: Sequence[OffsetRange], partitions_min: int | None, records_max: int | None) -> list[OffsetRange]:
    """Cut big ranges so that no task has too many records and there are about as many tasks as wanted.

    The same ranges are always cut the same way: a repeated batch has the same tasks with the same rows.
    """
    filled = [each for each in ranges if each.count > 0]
    if records_max is not None:
        filled = [piece for each in filled for piece in _pieces(each, -(-each.count // records_max))]
    if partitions_min is None or len(filled) >= partitions_min:
        return filled
    total = sum(each.count for each in filled)
    return [piece for each in filled for piece in _pieces(each, round(each.count * partitions_min / total))]


def shared(ranges: Sequence[OffsetRange], most: int) -> list[SharedTask]:
    """Ranges in their order, put together as long as a task gets no more than `most` records; the same every time."""
    tasks: list[list[OffsetRange]] = []
    room = 0
    for each in ranges:
        if each.count > room:
            tasks.append([])
            room = most
        tasks[-1].append(each)
        room -= each.count
    return [SharedTask(each) for each in tasks]


def _pieces(whole: OffsetRange, number: int) -> list[OffsetRange]:
    number = max(1, min(number, whole.count))
    edges = [whole.start + whole.count * index // number for index in range(number + 1)]
    return [OffsetRange(whole.topic, whole.partition, start, end) for start, end in pairwise(edges)]
