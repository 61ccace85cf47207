"""High watermark, in-sync set, admission of writes: a partition's leader (semantics, sections 3.1 to 3.4 and 2.9)."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.leader_log import OffsetsOnly
from tidelog.broker.core.leader_epoch_check import check_leader_epoch
from tidelog.broker.core.partition_leader import (
    HIGH_WATERMARK,
    ISR,
    LOW_WATERMARK,
    NOTHING,
    LeaderState,
    PartitionLeader,
    ProposeIsr,
)
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerId, LeaderEpoch, PartitionEpoch

ME, TWO, THREE = BrokerId(1), BrokerId(2), BrokerId(3)
ALL = (ME, TWO, THREE)
LAG_MS = 30_000


class Led:
    """A partition led by broker 1, and its log."""

    def __init__(
        self,
        isr: tuple[BrokerId, ...] = ALL,
        *,
        replicas: tuple[BrokerId, ...] = ALL,
        min_isr: int = 1,
        end: int = 0,
        high_watermark: int = 0,
        now_ms: float = 0,
    ) -> None:
        self.log = OffsetsOnly(end, high_watermark)
        self.live = set(replicas)
        self.leader = PartitionLeader(
            ME,
            LeaderState(LeaderEpoch(5), replicas, isr, PartitionEpoch(7)),
            self.log,
            self.live,
            min_insync_replicas=min_isr,
            replica_lag_time_max_ms=LAG_MS,
            now_ms=now_ms,
        )

    def append(self, count: int = 1, now_ms: float = 0) -> int:
        self.log.log_end_offset += count
        return self.leader.on_appended(now_ms)

    def fetch(self, broker_id: BrokerId, offset: int, now_ms: float = 0, log_start: int = 0) -> int:
        """The bits that changed; the log start is known from before unless it is what is tested."""
        return self.leader.on_follower_fetched(broker_id, offset, log_start, now_ms) & ~LOW_WATERMARK

    def proposal(self) -> ProposeIsr:
        assert self.leader.proposal is not None
        return self.leader.proposal

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark


# 3.1 Offsets


def test_one_record_through_both_fetch_rounds() -> None:
    """Produce: LEO 1, remote LEO 0, HW 0. First fetch: still 0. Second fetch: HW 1."""
    led = Led((ME, TWO), replicas=(ME, TWO))
    led.fetch(TWO, 0)
    assert led.append() == NOTHING
    assert (led.log.log_end_offset, led.high_watermark) == (1, 0)
    assert led.fetch(TWO, 0) == NOTHING
    assert led.high_watermark == 0
    assert led.fetch(TWO, 1) == HIGH_WATERMARK
    assert led.high_watermark == 1


def test_without_other_replicas_an_append_commits() -> None:
    led = Led((ME,), replicas=(ME,))
    assert led.append(3) == HIGH_WATERMARK
    assert led.high_watermark == 3


def test_becoming_leader_commits_what_only_we_were_missing() -> None:
    assert Led((ME,), replicas=(ME,), end=9, high_watermark=4).high_watermark == 9


def test_high_watermark_is_the_least_of_the_isr() -> None:
    led = Led()
    led.append(10)
    assert led.fetch(TWO, 10) == NOTHING
    assert led.fetch(THREE, 4) == HIGH_WATERMARK
    assert led.high_watermark == 4
    assert led.fetch(THREE, 10) == HIGH_WATERMARK
    assert led.high_watermark == 10


def test_a_follower_that_steps_back_does_not_take_it_along() -> None:
    led = Led()
    led.append(10)
    led.fetch(TWO, 10)
    led.fetch(THREE, 10)
    assert led.fetch(THREE, 3) == NOTHING
    assert led.high_watermark == 10


def test_out_of_sync_replicas_are_not_waited_for() -> None:
    led = Led((ME, TWO), now_ms=100_000)
    led.append(10)
    assert led.fetch(TWO, 10, 100_001) == HIGH_WATERMARK


def test_a_caught_up_replica_is_waited_for_before_it_is_in_the_isr() -> None:
    led = Led((ME, TWO), end=10, high_watermark=10)
    led.leader.proposal = ProposeIsr(LeaderEpoch(5), (ME, TWO), PartitionEpoch(7))  # another change is in flight
    led.fetch(TWO, 10, 1000)
    led.fetch(THREE, 10, 1000)
    led.append(5, 2000)
    assert led.fetch(TWO, 15, 2000) == NOTHING, "3 caught up a second ago and may join any moment"
    assert led.high_watermark == 10
    assert led.fetch(THREE, 12, 2000) == HIGH_WATERMARK
    assert led.high_watermark == 12


def test_a_caught_up_replica_that_cannot_join_is_not_waited_for() -> None:
    led = Led((ME, TWO), end=10, high_watermark=10)
    led.live.discard(THREE)
    led.fetch(TWO, 10, 1000)
    led.fetch(THREE, 10, 1000)
    led.append(5, 2000)
    assert led.fetch(TWO, 15, 2000) == HIGH_WATERMARK


def test_a_replica_that_caught_up_and_went_silent_is_waited_for_no_longer_than_the_lag_time() -> None:
    led = Led((ME, TWO), end=10, high_watermark=10)
    led.leader.proposal = ProposeIsr(LeaderEpoch(5), (ME, TWO), PartitionEpoch(7))  # so that it does not join
    led.fetch(TWO, 10, 1000)
    led.fetch(THREE, 10, 1000)
    led.append(5, 2000)
    assert led.fetch(TWO, 15, 2000) == NOTHING
    assert led.leader.on_lag_check(1000 + LAG_MS) == NOTHING
    assert led.leader.on_lag_check(1001 + LAG_MS) == HIGH_WATERMARK
    assert led.high_watermark == 15


def test_it_does_not_move_while_the_isr_is_below_the_minimum() -> None:
    led = Led((ME,), replicas=(ME, TWO), min_isr=2, end=5, now_ms=100_000)
    assert led.append(1, 100_000) == NOTHING
    assert led.high_watermark == 0
    assert led.leader.is_under_min_isr


def test_the_minimum_is_at_most_the_number_of_replicas() -> None:
    led = Led((ME,), replicas=(ME,), min_isr=2)
    assert led.append() == HIGH_WATERMARK


def test_a_lowered_minimum_lets_it_move() -> None:
    led = Led((ME,), replicas=(ME, TWO), min_isr=2, end=5, now_ms=100_000)
    assert led.leader.on_min_insync_replicas_changed(1, 100_000) == HIGH_WATERMARK
    assert led.high_watermark == 5


# 3.1 lastCaughtUpTime, seen through the shrinking that it decides


@pytest.mark.parametrize(
    ("fetches", "caught_up_ms"),
    [
        pytest.param([(10, 5000)], 5000, id="it has all that we have: now"),
        pytest.param([(5, 5000), (10, 9000)], 5000, id="it has what we had at its last fetch: the time of that one"),
        pytest.param([(5, 5000), (9, 9000)], 0, id="it has not even that: as before"),
        pytest.param([(9, 5000)], 0, id="a first fetch that is behind: as before"),
    ],
)
def test_last_caught_up_time(fetches: list[tuple[int, float]], caught_up_ms: float) -> None:
    led = Led((ME, TWO), replicas=(ME, TWO), end=10)
    for number, (offset, now_ms) in enumerate(fetches):
        led.fetch(TWO, offset, now_ms)
        if number == 0 and len(fetches) > 1:
            led.append(5, now_ms)
    led.append(1, fetches[-1][1])
    assert led.leader.on_lag_check(caught_up_ms + LAG_MS) == NOTHING
    assert led.leader.on_lag_check(caught_up_ms + LAG_MS + 1) == ISR


def test_a_new_leader_gives_its_isr_time_to_come() -> None:
    led = Led((ME, TWO), end=10, now_ms=1_000_000)
    assert led.leader.on_lag_check(1_000_000 + LAG_MS) == NOTHING
    assert led.leader.on_lag_check(1_000_001 + LAG_MS) == ISR


# 3.2 ISR


def test_a_caught_up_follower_is_proposed_with_the_version_we_know() -> None:
    led = Led((ME, TWO), end=10, high_watermark=10)
    assert led.fetch(THREE, 10) & ISR
    assert led.proposal() == ProposeIsr(LeaderEpoch(5), (ME, TWO, THREE), PartitionEpoch(7))
    assert THREE not in led.leader.isr, "not before it is written"
    led.leader.on_isr_written(led.proposal(), PartitionEpoch(8), 0)
    assert led.leader.isr == ALL
    assert led.leader.partition_epoch == 8
    assert led.leader.proposal is None


@pytest.mark.parametrize(
    ("offset", "joins"),
    [(9, False), (10, True), (12, True)],
)
def test_it_joins_from_the_high_watermark_on(offset: int, *, joins: bool) -> None:
    led = Led((ME, TWO), end=5, high_watermark=5, now_ms=100_000)
    led.append(7, 100_000)
    led.fetch(TWO, 10, 100_000)
    assert led.high_watermark == 10
    assert bool(led.fetch(THREE, offset, 100_000) & ISR) is joins


def test_it_joins_only_from_the_start_of_this_epoch_on() -> None:
    """A new leader's mark may be old: whoever reached only that may lack what was committed under the former leader."""
    led = Led((ME, TWO), end=20, high_watermark=10)
    assert not led.fetch(THREE, 19) & ISR
    assert led.fetch(THREE, 20) & ISR


def test_a_dead_broker_does_not_join() -> None:
    led = Led((ME, TWO))
    led.live.discard(THREE)
    assert led.fetch(THREE, 0) == NOTHING


def test_one_change_at_a_time() -> None:
    led = Led((ME,), now_ms=100_000)
    assert led.fetch(TWO, 0) & ISR
    assert led.fetch(THREE, 0) == NOTHING
    assert led.leader.on_lag_check(10**9) == NOTHING
    led.leader.on_isr_written(led.proposal(), PartitionEpoch(8), 0)
    assert led.fetch(THREE, 0) & ISR
    assert led.proposal().expected_partition_epoch == 8


def test_who_is_being_added_holds_the_high_watermark_back() -> None:
    led = Led((ME, TWO), end=10, high_watermark=10)
    led.fetch(TWO, 10)
    led.fetch(THREE, 10)
    led.append(5)
    # Long after: it does not count as caught up any more, but the change may have been made.
    assert led.fetch(TWO, 15, 10**6) == NOTHING
    assert led.high_watermark == 10


def test_who_is_being_removed_holds_it_back_until_that_is_certain() -> None:
    led = Led((ME, TWO), replicas=(ME, TWO), end=5)
    assert led.leader.on_lag_check(LAG_MS + 1) == ISR
    assert led.proposal().isr == (ME,)
    assert led.append(1, LAG_MS + 1) == NOTHING
    assert led.leader.maximal_isr_size == 2
    assert led.leader.on_isr_written(led.proposal(), PartitionEpoch(8), LAG_MS + 2) == HIGH_WATERMARK
    assert led.high_watermark == 6


def test_who_is_at_the_end_is_in_sync_however_long_ago_it_fetched() -> None:
    led = Led((ME, TWO), replicas=(ME, TWO), end=5)
    led.fetch(TWO, 5)
    assert led.leader.on_lag_check(10**9) == NOTHING


def test_the_leader_itself_is_never_removed() -> None:
    led = Led(end=5)
    led.leader.on_lag_check(10**9)
    assert led.proposal().isr == (ME,)


@pytest.mark.parametrize("code", [KafkaCode.INELIGIBLE_REPLICA, KafkaCode.OPERATION_NOT_ATTEMPTED])
def test_a_change_that_was_not_made_is_given_up(code: KafkaCode) -> None:
    led = Led((ME, TWO))
    led.fetch(THREE, 0)
    assert not led.leader.on_isr_refused(led.proposal(), code, 0) & ISR
    assert led.leader.proposal is None
    assert led.leader.maximal_isr_size == 2


@pytest.mark.parametrize(
    "code",
    [
        KafkaCode.UNKNOWN_TOPIC_OR_PARTITION,
        KafkaCode.UNKNOWN_TOPIC_ID,
        KafkaCode.FENCED_LEADER_EPOCH,
        KafkaCode.INVALID_UPDATE_VERSION,
        KafkaCode.INVALID_REQUEST,
    ],
)
def test_with_an_outdated_state_it_stays_pending(code: KafkaCode) -> None:
    """Until the next LeaderAndIsr, which makes a new instance."""
    led = Led((ME, TWO))
    led.fetch(THREE, 0)
    assert led.leader.on_isr_refused(led.proposal(), code, 0) == NOTHING
    assert led.proposal().isr == ALL
    assert led.leader.maximal_isr_size == 3


def test_anything_else_is_tried_again() -> None:
    led = Led((ME, TWO))
    led.fetch(THREE, 0)
    before = led.proposal()
    assert led.leader.on_isr_refused(before, KafkaCode.NETWORK_EXCEPTION, 0) == ISR
    assert led.proposal() is before


def test_news_of_an_older_change_is_ignored() -> None:
    led = Led((ME, TWO))
    led.fetch(THREE, 0)
    stale = ProposeIsr(LeaderEpoch(4), (ME,), PartitionEpoch(6))
    assert led.leader.on_isr_written(stale, PartitionEpoch(9), 0) == NOTHING
    assert led.leader.on_isr_refused(stale, KafkaCode.INELIGIBLE_REPLICA, 0) == NOTHING
    assert (led.leader.isr, led.leader.partition_epoch) == ((ME, TWO), 7)


# 3.3 Produce


def refusal(led: Led, acks: int) -> KafkaCode:
    with pytest.raises(KafkaError) as refused:
        led.leader.check_produce(acks)
    return refused.value.code


def test_too_few_in_sync_refuses_acks_all_and_nothing_else() -> None:
    led = Led((ME,), min_isr=2, now_ms=100_000)
    assert refusal(led, -1) is KafkaCode.NOT_ENOUGH_REPLICAS
    led.leader.check_produce(0)
    led.leader.check_produce(1)


def test_admission_goes_by_the_committed_isr() -> None:
    led = Led((ME,), min_isr=2)
    led.fetch(TWO, 0)
    assert led.leader.maximal_isr_size == 2
    assert refusal(led, -1) is KafkaCode.NOT_ENOUGH_REPLICAS


@pytest.mark.parametrize("acks", [-2, 2, 7])
def test_other_acks_are_refused(acks: int) -> None:
    assert refusal(Led(), acks) is KafkaCode.INVALID_REQUIRED_ACKS


def test_a_delayed_produce_is_satisfied_by_the_high_watermark() -> None:
    led = Led((ME, TWO), replicas=(ME, TWO))
    led.append(3)
    assert led.leader.produce_outcome(3) is None
    led.fetch(TWO, 2)
    assert led.leader.produce_outcome(3) is None
    led.fetch(TWO, 3)
    assert led.leader.produce_outcome(3) is KafkaCode.NONE


def test_committed_with_too_few_in_sync_says_so() -> None:
    led = Led((ME, TWO), replicas=(ME, TWO), min_isr=2, end=3)
    led.fetch(TWO, 3)
    led.append(1)
    led.leader.on_lag_check(10**6)
    assert led.leader.produce_outcome(3) is KafkaCode.NONE, "the removal is not certain yet"
    led.leader.on_isr_written(led.proposal(), PartitionEpoch(8), 10**6)
    assert led.leader.produce_outcome(3) is KafkaCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert led.leader.produce_outcome(4) is None


# 3.4 and 3.5 Epochs and strangers


@pytest.mark.parametrize(
    ("requested", "is_leader", "code"),
    [
        (4, True, KafkaCode.FENCED_LEADER_EPOCH),
        (6, True, KafkaCode.UNKNOWN_LEADER_EPOCH),
        (4, False, KafkaCode.FENCED_LEADER_EPOCH),
        (5, False, KafkaCode.NOT_LEADER_OR_FOLLOWER),
        (-1, False, KafkaCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_epoch_first_then_leadership(requested: int, code: KafkaCode, *, is_leader: bool) -> None:
    with pytest.raises(KafkaError) as refused:
        check_leader_epoch(requested, 5, is_leader=is_leader)
    assert refused.value.code is code


def test_the_right_epoch_or_none_passes() -> None:
    check_leader_epoch(5, 5, is_leader=True)
    check_leader_epoch(-1, 5, is_leader=True)
    check_leader_epoch(5, 5, is_leader=False, leader_only=False)


@pytest.mark.parametrize(
    ("epoch_given", "code"), [(True, KafkaCode.UNKNOWN_LEADER_EPOCH), (False, KafkaCode.NOT_LEADER_OR_FOLLOWER)]
)
def test_a_broker_that_is_no_replica(code: KafkaCode, *, epoch_given: bool) -> None:
    with pytest.raises(KafkaError) as refused:
        Led().leader.on_follower_fetched(BrokerId(9), 0, 0, 0, epoch_given=epoch_given)
    assert refused.value.code is code


# Delete-records


def test_deleted_once_every_live_replica_has() -> None:
    led = Led(end=10, high_watermark=10)
    led.log.log_start_offset = 6
    assert led.leader.delete_records_outcome(6) is None, "nothing is known of the followers yet"
    assert led.leader.on_follower_fetched(TWO, 10, 6, 0) & LOW_WATERMARK
    led.leader.on_follower_fetched(THREE, 10, 2, 0)
    assert led.leader.low_watermark() == 2
    assert led.leader.delete_records_outcome(6) is None
    led.live.discard(THREE)
    assert led.leader.delete_records_outcome(6) is KafkaCode.NONE


def test_deletes_up_to_the_high_watermark_at_most() -> None:
    leader = Led(end=10, high_watermark=8).leader
    assert leader.delete_records_target(5) == 5
    assert leader.delete_records_target(-1) == 8
    for offset in (9, -2):
        with pytest.raises(KafkaError) as refused:
            leader.delete_records_target(offset)
        assert refused.value.code is KafkaCode.OFFSET_OUT_OF_RANGE


class LeaderMachine(RuleBasedStateMachine):
    """After whatever happened: the mark has not fallen, and is within what every member of the maximal ISR has."""

    @initialize(isr=st.sampled_from([(ME,), (ME, TWO), ALL]), min_isr=st.integers(1, 3))
    def elect(self, isr: tuple[BrokerId, ...], min_isr: int) -> None:
        self.now_ms = 1_000_000.0
        self.led = Led(isr, min_isr=min_isr, end=10, high_watermark=5, now_ms=self.now_ms)
        self.mark = self.led.high_watermark
        self.fetched = dict.fromkeys((TWO, THREE), -1)

    @rule(count=st.integers(1, 5))
    def append(self, count: int) -> None:
        self.led.append(count, self.now_ms)

    @rule(who=st.sampled_from([TWO, THREE]), behind=st.integers(0, 6))
    def fetch(self, who: BrokerId, behind: int) -> None:
        offset = max(0, self.led.log.log_end_offset - behind)
        self.fetched[who] = offset
        self.led.fetch(who, offset, self.now_ms)

    @rule(delta_ms=st.sampled_from([1, 1000, 15_000, 31_000]))
    def pass_time(self, delta_ms: int) -> None:
        self.now_ms += delta_ms
        self.led.leader.on_lag_check(self.now_ms)

    @precondition(lambda self: self.led.leader.proposal is not None)
    @rule()
    def write_isr(self) -> None:
        proposal = self.led.proposal()
        self.led.leader.on_isr_written(proposal, PartitionEpoch(proposal.expected_partition_epoch + 1), self.now_ms)

    @precondition(lambda self: self.led.leader.proposal is not None)
    @rule(code=st.sampled_from([KafkaCode.INELIGIBLE_REPLICA, KafkaCode.INVALID_UPDATE_VERSION, KafkaCode.NONE]))
    def refuse_isr(self, code: KafkaCode) -> None:
        self.led.leader.on_isr_refused(self.led.proposal(), code, self.now_ms)

    @rule(who=st.sampled_from([TWO, THREE]))
    def die_or_return(self, who: BrokerId) -> None:
        self.led.live.symmetric_difference_update({who})

    @invariant()
    def it_never_falls_and_moves_only_within_what_the_maximal_isr_has(self) -> None:
        leader, before, now = self.led.leader, self.mark, self.led.high_watermark
        assert now >= before
        self.mark = now
        if now > before:
            members = {*leader.isr, *(leader.proposal.isr if leader.proposal else ())} - {ME}
            assert now <= self.led.log.log_end_offset
            assert all(now <= self.fetched[member] for member in members)

    @invariant()
    def the_isr_changes_one_step_at_a_time(self) -> None:
        leader = self.led.leader
        assert leader.isr[0] == ME
        if leader.proposal is None:
            assert leader.maximal_isr_size == len(leader.isr)
        else:
            assert leader.maximal_isr_size == len({*leader.isr, *leader.proposal.isr})
            assert leader.proposal.expected_partition_epoch == leader.partition_epoch

    @invariant()
    def it_is_as_high_as_the_rule_allows(self) -> None:
        leader = self.led.leader
        if leader.proposal is None and leader.isr == ALL and not leader.is_under_min_isr:
            least = min(self.led.log.log_end_offset, *self.fetched.values())
            assert self.led.high_watermark >= least


TestLeaderMachine = LeaderMachine.TestCase
TestLeaderMachine.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
