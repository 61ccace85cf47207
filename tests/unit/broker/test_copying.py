"""Leader and follower step by step: what each knows after every fetch, and how their logs are brought together."""

from pathlib import Path

import pytest

from tests.support.logs import NOW, stored
from tests.support.replica_pair import Offsets, Pair
from tidelog.broker.core.partition_follower import Verdict
from tidelog.broker.log.retention import delete_records
from tidelog.kafka.errors import KafkaCode


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    made = Pair(tmp_path)
    made.fetch()
    return made


def remote_end(pair: Pair) -> int:
    """The end of the follower's log, as the leader knows it."""
    (follower,) = pair.leader.partition.led().followers
    return follower.log_end_offset


def test_a_record_is_committed_by_the_second_fetch_that_comes_after_it(pair: Pair) -> None:
    outcome = pair.leader.produce()
    assert (pair.leader.offsets, remote_end(pair), pair.follower.offsets) == (Offsets(1, 0), 0, Offsets(0, 0))

    pair.fetch()
    assert (pair.leader.offsets, remote_end(pair), pair.follower.offsets) == (Offsets(1, 0), 0, Offsets(1, 0))
    assert outcome == []

    pair.fetch()
    assert (pair.leader.offsets, remote_end(pair), pair.follower.offsets) == (Offsets(1, 1), 1, Offsets(1, 1))
    assert outcome == [KafkaCode.NONE]


def test_a_fetch_that_is_parked_when_the_record_comes_counts_as_the_first(pair: Pair) -> None:
    deliver = pair.send_fetch()
    outcome = pair.leader.produce()
    deliver()
    assert (pair.leader.offsets, remote_end(pair), pair.follower.offsets) == (Offsets(1, 0), 0, Offsets(1, 0))
    assert outcome == []

    pair.fetch()
    assert (pair.leader.offsets, remote_end(pair), pair.follower.offsets) == (Offsets(1, 1), 1, Offsets(1, 1))
    assert outcome == [KafkaCode.NONE]


def acknowledged_and_not_known_to_be(pair: Pair) -> None:
    """The leader has acknowledged a record; the follower has it, and has not heard that it is committed."""
    outcome = pair.leader.produce(b"acknowledged")
    pair.fetch()
    pair.send_fetch()
    pair.leader.run()
    assert outcome == [KafkaCode.NONE]
    assert pair.follower.offsets == Offsets(1, 0)


def test_truncation_to_the_high_watermark_would_lose_an_acknowledged_record(pair: Pair) -> None:
    """What Kafka did before it had epochs, done by hand: the follower restarts, cuts back, and then leads."""
    acknowledged_and_not_known_to_be(pair)
    restarted = pair.follower.partition.log
    pair.follower.storage.store.truncate(restarted, restarted.high_watermark, NOW)
    pair.told(leader=2, epoch=1)
    pair.fetch()
    pair.fetch()
    assert (pair.one.offsets.log_end, pair.two.offsets.log_end) == (0, 0), (
        "the old leader follows, and the record is gone"
    )


def test_a_follower_that_becomes_leader_keeps_what_it_was_not_told_to_be_committed(pair: Pair) -> None:
    """Cutting back to the high watermark would lose a record that was acknowledged; epochs show that nothing differs."""
    acknowledged_and_not_known_to_be(pair)
    # It follows anew in the next epoch, as after a restart, and then leads.
    pair.told(leader=1, epoch=1)
    assert pair.follower.offsets.log_end == 1
    pair.told(leader=2, epoch=2)
    pair.fetch()
    assert (pair.one.offsets.log_end, pair.two.offsets.log_end) == (1, 1)
    assert stored(pair.one.partition.log) == stored(pair.two.partition.log)


def test_a_leader_that_comes_back_cuts_off_what_nobody_else_has(pair: Pair) -> None:
    pair.leader.produce(b"both")
    pair.fetch()
    pair.leader.produce(b"lost")
    pair.told(leader=2, epoch=1, isr=(2,))
    assert pair.leader.produce(b"instead") == [KafkaCode.NONE]
    assert pair.fetch() is Verdict.IGNORE
    assert pair.one.offsets.log_end == 1, "the leader's answer said where the logs part"
    assert pair.one.partition.traffic.truncations == {"differs from the leader's": 1}
    pair.fetch()
    assert stored(pair.one.partition.log) == stored(pair.two.partition.log)
    assert pair.one.partition.log.epochs.entries == pair.two.partition.log.epochs.entries


def test_a_write_waits_on_when_its_leader_goes_on_in_the_next_epoch(pair: Pair) -> None:
    outcome = pair.leader.produce()
    pair.told(leader=1, epoch=1)
    pair.leader.run()
    assert outcome == []
    pair.fetch()
    pair.fetch()
    assert outcome == [KafkaCode.NONE]


def test_a_write_is_not_acknowledged_by_a_leader_that_has_led_anew_in_between(pair: Pair) -> None:
    outcome = pair.one.produce()
    pair.told(leader=2, epoch=1)
    pair.told(leader=1, epoch=2)
    pair.one.run()
    assert outcome == [KafkaCode.NOT_LEADER_OR_FOLLOWER]


def test_a_follower_that_caught_up_is_proposed_for_the_in_sync_set(tmp_path: Path) -> None:
    pair = Pair(tmp_path)
    pair.told(leader=1, epoch=1, isr=(1,))
    assert pair.leader.produce() == [KafkaCode.NONE]
    pair.fetch()
    assert pair.leader.proposed == []
    pair.fetch()
    assert pair.leader.proposed == [(1, 2)]


def test_the_leaders_refusals_leave_the_partition_out(pair: Pair) -> None:
    deliver = pair.send_fetch()
    pair.leader.told(leader=1, epoch=1)
    assert deliver() is Verdict.FAILED, "the leader is in a newer epoch: only the controller can tell what to do"
    pair.told(leader=1, epoch=2)
    pair.leader.partitions.stop("t", 0, 2, delete=True)
    assert pair.fetch() is Verdict.DELAYED


def test_the_leaders_log_start_is_taken_over(pair: Pair) -> None:
    for _ in range(3):
        pair.leader.produce()
    pair.fetch()
    pair.fetch()
    delete_records(pair.leader.partition.log, 2)
    pair.fetch()
    assert pair.follower.partition.log.log_start_offset == 2
