"""Special timestamps, and the time after an election in which "latest" is not known (semantics, sections 3.5, 11)."""

import pytest

from tidelog.broker.core.list_offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    NOT_FOUND,
    ListedOffset,
    ReadableRange,
    SegmentTime,
    asked_twice,
    check_timestamp,
    listed_offset,
    needs_search,
    old_style_offsets,
)
from tidelog.kafka.errors import KafkaCode, KafkaError

SEEN = ReadableRange(
    log_start_offset=10, limit=50, high_watermark=50, leader_epoch=3, epoch_start_offset=40, first_epoch=1
)
JUST_ELECTED = ReadableRange(log_start_offset=10, limit=50, high_watermark=50, leader_epoch=3, epoch_start_offset=60)


@pytest.mark.parametrize(
    ("timestamp", "since"), [(LATEST, 0), (EARLIEST, 0), (MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9)]
)
def test_each_special_timestamp_is_known_from_its_version_on(timestamp: int, since: int) -> None:
    for version in range(10):
        if version >= since:
            check_timestamp(timestamp, version)
        else:
            with pytest.raises(KafkaError) as refused:
                check_timestamp(timestamp, version)
            assert refused.value.code is KafkaCode.UNSUPPORTED_VERSION


def test_no_version_knows_other_negative_timestamps() -> None:
    with pytest.raises(KafkaError):
        check_timestamp(-6, 9)
    check_timestamp(0, 1)


def test_latest_is_how_far_the_reader_may_see() -> None:
    assert listed_offset(LATEST, SEEN, 7) == ListedOffset(50, -1, 3)


@pytest.mark.parametrize("timestamp", [EARLIEST, EARLIEST_LOCAL])
def test_earliest_is_the_log_start_also_right_after_an_election(timestamp: int) -> None:
    assert listed_offset(timestamp, SEEN, 8) == ListedOffset(10, -1, 1)
    assert listed_offset(timestamp, JUST_ELECTED, 8).offset == 10


def test_nothing_is_tiered() -> None:
    assert listed_offset(LATEST_TIERED, SEEN, 9) == NOT_FOUND


@pytest.mark.parametrize("timestamp", [1_000, MAX_TIMESTAMP])
def test_a_found_record_counts_if_it_may_be_seen(timestamp: int) -> None:
    assert needs_search(timestamp)
    assert listed_offset(timestamp, SEEN, 7, ListedOffset(49, 1_000, 2)) == ListedOffset(49, 1_000, 2)
    assert listed_offset(timestamp, SEEN, 7, ListedOffset(50, 1_000, 2)) == NOT_FOUND
    assert listed_offset(timestamp, SEEN, 7, None) == NOT_FOUND


def test_other_special_timestamps_need_no_search() -> None:
    assert not any(map(needs_search, (LATEST, EARLIEST, EARLIEST_LOCAL, LATEST_TIERED)))


@pytest.mark.parametrize(
    ("version", "code"), [(4, KafkaCode.LEADER_NOT_AVAILABLE), (5, KafkaCode.OFFSET_NOT_AVAILABLE)]
)
@pytest.mark.parametrize("timestamp", [LATEST, 1_000])
def test_a_new_leader_does_not_tell_before_it_knows(timestamp: int, version: int, code: KafkaCode) -> None:
    with pytest.raises(KafkaError) as refused:
        listed_offset(timestamp, JUST_ELECTED, version)
    assert refused.value.code is code


def test_a_new_leader_tells_what_it_can_resolve() -> None:
    assert listed_offset(1_000, JUST_ELECTED, 7, ListedOffset(20, 1_000, 1)).offset == 20


def test_replicas_may_always_ask() -> None:
    seen = ReadableRange(0, 70, 50, 3, epoch_start_offset=60, is_replica=True)
    assert listed_offset(LATEST, seen, 7).offset == 70


def test_partitions_asked_twice() -> None:
    assert asked_twice([("t", 0), ("t", 1), ("t", 0), ("u", 0)]) == {("t", 0)}


SEGMENTS = [SegmentTime(0, 1000), SegmentTime(20, 2000), SegmentTime(40, 3000), SegmentTime(60, 9000)]


@pytest.mark.parametrize(
    ("timestamp", "max_offsets", "expected"),
    [
        (EARLIEST, 10, [10]),
        (LATEST, 1, [50]),
        (LATEST, 10, [50, 40, 20, 10]),
        (2500, 10, [20, 10]),
        (2500, 1, [20]),
        (500, 10, []),
    ],
)
def test_version_0_lists_starts_of_segments(timestamp: int, max_offsets: int, expected: list[int]) -> None:
    """The last mark is the end of the log, which the reader may not see yet."""
    assert old_style_offsets(timestamp, SEGMENTS, SEEN, max_offsets) == expected
