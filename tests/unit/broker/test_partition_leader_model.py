"""A partition's leader after anything that can happen to it: the high watermark never falls."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.led_partition import ALL, ME, THREE, TWO, Led
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import BrokerId, PartitionEpoch


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
