"""Ranges of offsets: shares of a trigger, and pieces for tasks."""

from hypothesis import given
from hypothesis import strategies as st

from pyspark_tidelog.ranges import OffsetRange, cut, limited, shared
from tidelog.client.records import TopicPartition

_A, _B = TopicPartition("t", 0), TopicPartition("t", 1)


def test_what_is_within_the_limit_is_taken_whole() -> None:
    assert limited({_A: 5, _B: 0}, {_A: 10, _B: 5}, 10) == {_A: 10, _B: 5}


def test_partitions_share_a_trigger_by_what_waits_in_them() -> None:
    assert limited({_A: 0, _B: 0}, {_A: 900, _B: 100}, 100) == {_A: 90, _B: 10}


def test_a_partition_with_little_is_not_starved() -> None:
    assert limited({_A: 0, _B: 0}, {_A: 100_000, _B: 1}, 10)[_B] == 1


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 500)), min_size=1, max_size=8), st.integers(1, 2000))
def test_a_limit_always_makes_progress_and_never_takes_too_much(waiting: list[tuple[int, int]], most: int) -> None:
    starts = {TopicPartition("t", index): start for index, (start, _) in enumerate(waiting)}
    ends = {TopicPartition("t", index): start + count for index, (start, count) in enumerate(waiting)}
    found = limited(starts, ends, most)
    assert all(starts[each] <= found[each] <= ends[each] for each in ends)
    taken = sum(found[each] - starts[each] for each in ends)
    assert taken > 0 or sum(count for _, count in waiting) == 0
    assert taken <= most + len(ends)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 500)), max_size=6),
    st.none() | st.integers(1, 40),
    st.none() | st.integers(1, 100),
)
def test_pieces_cover_every_offset_once(
    wanted: list[tuple[int, int]], partitions_min: int | None, records_max: int | None
) -> None:
    whole = [OffsetRange("t", index, start, start + count) for index, (start, count) in enumerate(wanted)]
    pieces = cut(whole, partitions_min, records_max)
    offsets = [(piece.partition, offset) for piece in pieces for offset in range(piece.start, piece.end)]
    assert offsets == [(each.partition, offset) for each in whole for offset in range(each.start, each.end)]
    assert records_max is None or all(piece.count <= records_max for piece in pieces)
    assert cut(whole, partitions_min, records_max) == pieces


def test_big_partitions_are_cut_for_as_many_tasks_as_wanted() -> None:
    pieces = cut([OffsetRange("t", 0, 0, 90), OffsetRange("t", 1, 0, 10)], 10, None)
    assert [piece.count for piece in pieces] == [10] * 10


def test_small_ranges_share_a_task_and_big_ones_do_not() -> None:
    ranges = [OffsetRange("t", index, 0, count) for index, count in enumerate((40, 60, 1, 500, 2))]
    assert [[each.partition for each in task.ranges] for task in shared(ranges, 100)] == [[0, 1], [2], [3], [4]]
    assert [task.count for task in shared(ranges, 1000)] == [603]
    assert len(shared(ranges, 1)) == 5


@given(st.lists(st.integers(1, 300), max_size=12), st.integers(1, 500))
def test_shared_tasks_have_every_range_once_in_order(counts: list[int], most: int) -> None:
    ranges = [OffsetRange("t", index, 5, 5 + count) for index, count in enumerate(counts)]
    tasks = shared(ranges, most)
    assert [each for task in tasks for each in task.ranges] == ranges
    assert all(task.count <= most or len(task.ranges) == 1 for task in tasks)
    assert shared(ranges, most) == tasks
