"""What a follower does with each answer, and how two logs are brought together (semantics, sections 3.1, 3.4, 3.5)."""

from bisect import bisect_right
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.broker.core.divergence import diverges, truncation
from tidelog.broker.core.partition_follower import (
    FollowerState,
    PartitionFollower,
    RestartLog,
    Truncate,
    Verdict,
    adopted_high_watermark,
    adopted_log_start,
    fetcher_id,
    restart_offset,
)
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerId, LeaderEpoch


class End(NamedTuple):
    """An epoch and where it ends."""

    epoch: int
    end_offset: int


UNDEFINED = End(-1, -1)


def follower(end: int = 10, epoch: int = 4) -> PartitionFollower:
    return PartitionFollower(BrokerId(1), LeaderEpoch(7), end, epoch, fetch_backoff_ms=1000)


# 3.4, the leader's side: does a fetch diverge?


@pytest.mark.parametrize(
    ("offset", "epoch", "end", "expected"),
    [
        pytest.param(10, -1, UNDEFINED, False, id="no epoch given"),
        pytest.param(10, 4, End(4, 10), False, id="our logs agree"),
        pytest.param(10, 4, End(4, 15), False, id="it is behind"),
        pytest.param(10, 4, End(4, 9), True, id="the epoch ended earlier here"),
        pytest.param(10, 4, End(3, 20), True, id="that epoch is not known here"),
    ],
)
def test_divergence(offset: int, epoch: int, end: End, *, expected: bool) -> None:
    assert diverges(offset, epoch, end, log_start_offset=0) is expected


@pytest.mark.parametrize(("end", "log_start"), [(UNDEFINED, 0), (End(4, 20), 11), (End(3, 5), 11)])
def test_a_part_that_the_leader_does_not_have_is_out_of_range(end: End, log_start: int) -> None:
    with pytest.raises(KafkaError) as refused:
        diverges(10, 4, end, log_start)
    assert refused.value.code is KafkaCode.OFFSET_OUT_OF_RANGE


# 3.4, the follower's side: how far to cut back


@pytest.mark.parametrize(
    ("leader", "own", "expected"),
    [
        pytest.param(End(-1, -1), End(4, 20), (8, True), id="no end offset: to the high watermark"),
        pytest.param(End(-1, 12), End(4, 20), (12, True), id="no epoch: to the leader's end"),
        pytest.param(End(-1, 50), End(4, 20), (30, True), id="no epoch, leader's end beyond ours: to our end"),
        pytest.param(End(3, 12), End(2, 9), (9, False), id="another epoch: to our end of it, and ask again"),
        pytest.param(End(3, 12), End(2, 99), (30, False), id="another epoch, not beyond our end"),
        pytest.param(End(3, 12), End(3, 20), (12, True), id="the same epoch: to where both have it, theirs"),
        pytest.param(End(3, 25), End(3, 20), (20, True), id="the same epoch: to where both have it, ours"),
        pytest.param(End(3, 12), UNDEFINED, (12, True), id="none that old: to the leader's end"),
    ],
)
def test_truncation(leader: End, own: End, expected: tuple[int, bool]) -> None:
    assert truncation(leader, own, log_end_offset=30, high_watermark=8) == expected


def test_a_divergence_is_cut_and_the_next_fetch_asks_with_the_older_epoch() -> None:
    partition = follower(end=10, epoch=4)
    step = partition.on_diverging(10, End(3, 6), {3: End(3, 7)}.__getitem__, high_watermark=2)
    assert step == Truncate(6)
    partition.on_truncated(6, 3)
    assert (partition.fetch_offset, partition.last_fetched_epoch) == (6, 3)
    assert partition.is_ready(0)


class ModelLog:
    """A log as the list of its records' epochs. A leader has its own epoch at the end, though it wrote nothing yet."""

    def __init__(self, epochs: list[int], current_epoch: int | None = None) -> None:
        self.epochs = epochs
        self.current_epoch = current_epoch

    def end_for(self, epoch: int) -> End:
        """As a log's epoch cache answers: section 3.4's rule for OffsetForLeaderEpoch."""
        starts = {epoch: self.epochs.index(epoch) for epoch in sorted(set(self.epochs))}
        if self.current_epoch is not None:
            starts[self.current_epoch] = len(self.epochs)
        known = list(starts)
        if epoch == -1 or not known or epoch > known[-1]:
            return UNDEFINED
        if epoch == known[-1]:
            return End(epoch, len(self.epochs))
        after = bisect_right(known, epoch)
        return End(epoch if after == 0 else known[after - 1], starts[known[after]])

    @property
    def latest_epoch(self) -> int:
        return self.epochs[-1] if self.epochs else -1


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """A leader's and a follower's log with a common beginning; every epoch was written by one leader only."""
    common = sorted(draw(st.lists(st.integers(0, 3), max_size=6)))
    rest = [epoch for epoch in range(4, 12) if draw(st.booleans())]
    leaders = {epoch: draw(st.booleans()) for epoch in rest}
    ours = [e for e in rest if leaders[e] for _ in range(draw(st.integers(1, 3)))]
    theirs = [e for e in rest if not leaders[e] for _ in range(draw(st.integers(1, 3)))]
    return common + ours, common + theirs


@given(histories())
def test_whatever_the_histories_the_logs_end_up_equal(logs: tuple[list[int], list[int]]) -> None:
    """KIP-101 and KIP-279: rounds of fetch and truncation end, and never cut what both have."""
    leader, own = ModelLog(logs[0], current_epoch=99), ModelLog(logs[1])
    in_common = next((i for i, (a, b) in enumerate(zip(*logs, strict=False)) if a != b), min(map(len, logs)))
    partition = follower(len(own.epochs), own.latest_epoch)
    for _ in range(len(logs[1]) + 1):
        end = leader.end_for(partition.last_fetched_epoch)
        if not diverges(partition.fetch_offset, partition.last_fetched_epoch, end, log_start_offset=0):
            break
        step = partition.on_diverging(partition.fetch_offset, end, own.end_for, high_watermark=0)
        assert isinstance(step, Truncate)
        assert in_common <= step.offset < len(own.epochs)
        own.epochs = own.epochs[: step.offset]
        partition.on_truncated(len(own.epochs), own.latest_epoch)
    assert own.epochs == leader.epochs[: len(own.epochs)]


def test_records_are_appended_if_they_answer_the_present_question() -> None:
    partition = follower(end=10)
    assert partition.on_records(10) is Verdict.APPEND
    partition.on_appended(15, 6, leader_high_watermark=20)
    assert (partition.fetch_offset, partition.last_fetched_epoch, partition.is_in_sync) == (15, 6, False)
    assert partition.on_records(10) is Verdict.IGNORE
    partition.on_appended(20, 6, leader_high_watermark=20)
    assert partition.is_in_sync


# OFFSET_OUT_OF_RANGE


def test_ahead_of_the_leader_cuts_back_to_its_end() -> None:
    partition = follower(end=10)
    assert partition.on_error(10, 7, KafkaCode.OFFSET_OUT_OF_RANGE, 0) is Verdict.ASK_LATEST
    assert not partition.is_ready(0), "nothing is fetched while the leader is asked"
    assert partition.on_leader_latest(6) == Truncate(6)


def test_behind_the_leaders_start_restarts_there() -> None:
    partition = follower(end=10)
    partition.on_error(10, 7, KafkaCode.OFFSET_OUT_OF_RANGE, 0)
    assert partition.on_leader_latest(100) is Verdict.ASK_EARLIEST
    assert partition.on_leader_earliest(50) == RestartLog(50)
    partition.on_truncated(50, -1)
    assert partition.is_ready(0)
    assert partition.fetch_offset == 50


def test_within_the_leaders_log_goes_on_from_its_own_end() -> None:
    partition = follower(end=10)
    partition.on_error(10, 7, KafkaCode.OFFSET_OUT_OF_RANGE, 0)
    partition.on_leader_latest(100)
    assert partition.on_leader_earliest(5) is Verdict.IGNORE
    assert partition.is_ready(0)
    assert partition.fetch_offset == 10


def test_if_the_leader_does_not_tell_it_starts_over_later() -> None:
    partition = follower()
    partition.on_error(10, 7, KafkaCode.OFFSET_OUT_OF_RANGE, 0)
    assert partition.on_asking_failed(7, KafkaCode.NOT_LEADER_OR_FOLLOWER, 100) is Verdict.DELAYED
    assert partition.on_leader_latest(5) is Verdict.IGNORE
    assert partition.is_ready(1100)


# 3.5 errors


@pytest.mark.parametrize(
    "code",
    [
        KafkaCode.UNKNOWN_LEADER_EPOCH,
        KafkaCode.NOT_LEADER_OR_FOLLOWER,
        KafkaCode.UNKNOWN_TOPIC_OR_PARTITION,
        KafkaCode.UNKNOWN_TOPIC_ID,
        KafkaCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_what_may_pass_is_tried_again_after_the_back_off(code: KafkaCode) -> None:
    partition = follower()
    assert partition.on_error(10, 7, code, 500) is Verdict.DELAYED
    assert not partition.is_ready(1499)
    assert partition.is_ready(1500)
    assert partition.state is FollowerState.FETCHING


def test_fenced_with_our_present_epoch_is_for_good() -> None:
    partition = follower()
    assert partition.on_error(10, 7, KafkaCode.FENCED_LEADER_EPOCH, 0) is Verdict.FAILED
    assert not partition.is_ready(10**9)
    partition.delay(0)
    assert not partition.is_ready(10**9)


def test_fenced_with_an_older_epoch_is_tried_again() -> None:
    assert follower().on_error(10, 6, KafkaCode.FENCED_LEADER_EPOCH, 0) is Verdict.DELAYED


def test_storage_errors_fail_and_damage_is_tried_again() -> None:
    assert follower().on_error(10, 7, KafkaCode.KAFKA_STORAGE_ERROR, 0) is Verdict.FAILED
    assert follower().on_append_failed(KafkaCode.KAFKA_STORAGE_ERROR, 0) is Verdict.FAILED
    assert follower().on_append_failed(KafkaCode.UNKNOWN_SERVER_ERROR, 0) is Verdict.FAILED
    assert follower().on_append_failed(KafkaCode.CORRUPT_MESSAGE, 0) is Verdict.DELAYED


def test_answers_to_questions_of_the_past_are_ignored() -> None:
    partition = follower(end=10)
    partition.on_truncated(5, 3)
    assert partition.on_records(10) is Verdict.IGNORE
    assert partition.on_error(10, 7, KafkaCode.OFFSET_OUT_OF_RANGE, 0) is Verdict.IGNORE
    assert partition.on_diverging(10, End(3, 4), ModelLog([3]).end_for, 0) is Verdict.IGNORE
    assert partition.on_leader_latest(0) is Verdict.IGNORE
    assert partition.on_leader_earliest(99) is Verdict.IGNORE


# 3.1 what is adopted


@pytest.mark.parametrize(("leaders", "expected"), [(15, 15), (3, 5), (25, 20)])
def test_the_high_watermark_is_held_within_the_log(leaders: int, expected: int) -> None:
    assert adopted_high_watermark(leaders, log_start_offset=5, log_end_offset=20) == expected


@pytest.mark.parametrize(("leaders", "expected"), [(3, 5), (9, 9), (30, 12)])
def test_the_log_start_is_raised_to_the_leaders(leaders: int, expected: int) -> None:
    assert adopted_log_start(leaders, log_start_offset=5, high_watermark=12) == expected


def test_an_empty_log_restarts_at_a_batch_that_begins_before_it() -> None:
    assert restart_offset(95, log_start_offset=100, log_end_offset=100) == 95
    assert restart_offset(100, log_start_offset=100, log_end_offset=100) is None
    assert restart_offset(95, log_start_offset=50, log_end_offset=100) is None


@pytest.mark.parametrize(
    ("topic", "partition", "expected"),
    # "t" hashes to 116 and "ab" to 3105.
    # The last one's hash is Java's smallest int, and so is 31 times that.
    [
        ("t", 0, (31 * 116) % 7),
        ("t", 3, (31 * 116 + 3) % 7),
        ("ab", 1, (31 * 3105 + 1) % 7),
        ("polygenelubricants", 0, 0),
        ("polygenelubricants", 1, ((1 << 31) - 1) % 7),
    ],
)
def test_fetcher_id(topic: str, partition: int, expected: int) -> None:
    assert fetcher_id(topic, partition, 7) == expected


@given(st.text(max_size=30), st.integers(0, 10_000), st.integers(1, 16))
def test_fetcher_id_is_always_one_of_them(topic: str, partition: int, fetchers: int) -> None:
    assert 0 <= fetcher_id(topic, partition, fetchers) < fetchers
