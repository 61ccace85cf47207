"""Random lives of a group: members come, sync, commit, go, die; answers get lost, appends fail, the shard moves.

One owner a partition a generation; generations never go back; nobody is left without an answer; the log alone tells a
new coordinator what the old one had promised.
"""

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.support.group_driver import Asked, GroupDriver, GroupScene, MemberScene
from tidelog.group_coordinator.core.groups.group import Group
from tidelog.group_coordinator.core.groups.limits import GroupLimits
from tidelog.group_coordinator.core.groups.shard import GroupShard
from tidelog.kafka.errors import KafkaCode

if TYPE_CHECKING:
    from tidelog.kafka.wire.messages.join_group import JoinGroupResponse

PARTITIONS = 6
SESSION_MS, REBALANCE_MS = 6_000, 4_000
REJOIN = {KafkaCode.REBALANCE_IN_PROGRESS, KafkaCode.ILLEGAL_GENERATION}

clients = st.integers(0, 4)


class Client:
    """A consumer's side of it. The first two are static; they keep their instance id when they start anew."""

    def __init__(self, group: GroupScene, number: int) -> None:
        self.group, self.number = group, number
        self.restart()

    def restart(self) -> None:
        instance = f"static-{self.number}" if self.number < 2 else None
        self.member: MemberScene = self.group.member(
            instance=instance, session_ms=SESSION_MS, rebalance_ms=REBALANCE_MS
        )
        self.joining: Asked | None = None
        self.syncing: Asked | None = None
        self.joined: JoinGroupResponse | None = None

    def hear(self) -> None:
        """Take in the answers that came."""
        if self.joining is not None and not self.joining.is_waiting:
            answer, self.joining = self.joining.answer, None
            if answer.error_code == KafkaCode.MEMBER_ID_REQUIRED:
                self.member.id = answer.member_id
            elif answer.error_code == KafkaCode.NONE:
                self.joined, self.syncing = answer, None
                member = self.member
                member.id, member.generation = answer.member_id, answer.generation_id
                member.leader, member.protocol = answer.leader, answer.protocol_name
            elif answer.error_code not in REJOIN:
                self.restart()


class GroupLives(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.driver = GroupDriver(GroupLimits(initial_rebalance_delay_ms=1_000))
        self.driver.commits_at_once = False
        self.group = GroupScene(self.driver)
        self.clients = [Client(self.group, number) for number in range(5)]
        # By generation, whose assignment each partition is in.
        self.owners: dict[int, dict[int, str]] = {}
        self.syncs: dict[int, tuple[str, int]] = {}
        self.generation_in_shard = 0
        self.failed_writes = 0

    # ---- what clients do

    @rule(number=clients)
    def join(self, number: int) -> None:
        client = self.clients[number]
        client.hear()
        if client.joining is None:
            client.joining = client.member.send_join()
            client.hear()

    @rule(number=clients, split=st.integers(0, PARTITIONS))
    def sync(self, number: int, split: int) -> None:
        client = self.clients[number]
        client.hear()
        if client.joined is None:
            return
        asked = client.member.send_sync(self.assign(client, split))
        self.syncs[asked.token] = (client.member.instance or client.member.id, client.member.generation)
        client.syncing = asked

    def assign(self, client: Client, split: int) -> dict[str, bytes]:
        """A leader deals the partitions out, each time it is asked in another way."""
        assert client.joined is not None
        ids = [member.member_id for member in client.joined.members]
        if client.joined.skip_assignment or not ids:
            return {}
        return {
            member_id: bytes(p for p in range(PARTITIONS) if (p + split) % len(ids) == i)
            for i, member_id in enumerate(ids)
        }

    @rule(numbers=st.sets(clients, min_size=1), rounds=st.integers(1, 4), split=st.integers(0, PARTITIONS))
    def go_on(self, numbers: set[int], rounds: int, split: int) -> None:
        """Some clients do what a good client does, for a while in which appends succeed."""
        for _ in range(rounds):
            for number in sorted(numbers):
                client = self.clients[number]
                client.hear()
                if client.joined is None or client.member.heartbeat() is not KafkaCode.NONE:
                    self.join(number)
                elif client.syncing is None:
                    self.sync(number, split)
            while self.driver.writes:
                self.driver.commit_next()
            self.driver.pass_time(1_000)

    @rule(number=clients)
    def heartbeat(self, number: int) -> None:
        client = self.clients[number]
        client.hear()
        code = client.member.heartbeat()
        if code not in REJOIN | {KafkaCode.NONE} and client.joining is None:
            client.restart()

    @rule(number=clients, offset=st.integers(0, 100))
    def commit(self, number: int, offset: int) -> None:
        member = self.clients[number].member
        self.group.commit_later(
            {("t", number): offset},
            generation_id_or_member_epoch=member.generation,
            member_id=member.id,
            group_instance_id=member.instance,
        )

    @rule(partition=clients, offset=st.integers(0, 100), producer_id=st.integers(1, 2))
    def commit_in_transaction(self, partition: int, offset: int, producer_id: int) -> None:
        self.group.commit_in_transaction_later({("t", partition): offset}, producer_id)

    @rule(number=clients)
    def leave(self, number: int) -> None:
        client = self.clients[number]
        client.hear()
        if client.member.id:
            client.member.leave()
            client.restart()

    @rule(number=clients)
    def die(self, number: int) -> None:
        self.clients[number].restart()

    @rule(number=clients)
    def lose_answers(self, number: int) -> None:
        client = self.clients[number]
        client.joining = client.syncing = None

    # ---- what happens around them

    @rule(ms=st.sampled_from([1, 500, 1_000, 2_500, 4_000, 7_000]))
    def pass_time(self, ms: int) -> None:
        self.driver.pass_time(ms)

    @precondition(lambda self: bool(self.driver.writes))
    @rule()
    def commit_next(self) -> None:
        self.driver.commit_next()

    @precondition(lambda self: bool(self.driver.writes))
    @rule(
        code=st.sampled_from([KafkaCode.NOT_ENOUGH_REPLICAS, KafkaCode.REQUEST_TIMED_OUT]),
        lands_all_the_same=st.booleans(),
    )
    def fail_next(self, code: KafkaCode, lands_all_the_same: bool) -> None:
        write = self.driver.writes[0]
        # A transactional batch that may have landed must be found out about before it is reported.
        if lands_all_the_same and write.producer is None:
            self.driver.log += [(record, None) for record in write.records]
        self.failed_writes += 1
        self.driver.fail_next(code)

    @rule(producer_id=st.integers(1, 2), committed=st.booleans())
    def end_transaction(self, producer_id: int, committed: bool) -> None:
        if not any(write.producer is not None for write in self.driver.writes):
            self.driver.end_transaction(producer_id, committed=committed)

    @rule()
    def fail_over(self) -> None:
        old = self.driver.shard
        self.driver.run(old.unload(self.driver.now_ms))
        while self.driver.writes:
            self.driver.fail_next(KafkaCode.NOT_COORDINATOR)
        self.driver.shard = self.driver.loaded()
        self.generation_in_shard = 0

    # ---- what holds

    @invariant()
    def one_owner_a_partition_a_generation(self) -> None:
        for token in [token for token in self.syncs if token in self.driver.answers]:
            owner, generation = self.syncs.pop(token)
            answer = self.driver.answers[token]
            if getattr(answer, "error_code", None) != KafkaCode.NONE:
                continue
            owned = self.owners.setdefault(generation, {})
            for partition in getattr(answer, "assignment", b""):
                assert owned.setdefault(partition, owner) == owner

    @invariant()
    def generations_grow(self) -> None:
        group = self.live_group(self.driver.shard)
        if group is not None:
            assert group.generation >= self.generation_in_shard
            self.generation_in_shard = group.generation

    @invariant()
    def counts_are_right(self) -> None:
        group = self.live_group(self.driver.shard)
        if group is not None:
            members = group.members.values()
            assert group.joined_count == sum(member.join_token is not None for member in members)
            assert group.static_members == {m.instance_id: m.id for m in members if m.instance_id is not None}
            assert (group.leader in group.members) if members else group.leader is None
            assert not (group.pending_members.keys() & group.members.keys())

    def teardown(self) -> None:
        while self.driver.writes:
            self.driver.commit_next()
        self.one_owner_a_partition_a_generation()
        self.new_coordinator_knows_the_same()
        self.nobody_is_left_without_an_answer()

    def new_coordinator_knows_the_same(self) -> None:
        live, fresh = self.driver.shard, self.driver.loaded()
        if not self.failed_writes:
            assert list(live.committed_offsets()) == list(fresh.committed_offsets())
            assert list(live._state.offsets.pending()) == list(fresh._state.offsets.pending())
            group = self.live_group(live)
            if group is not None and group.state.value in ("Stable", "Empty"):
                assert _durable(group) == _durable(self.live_group(fresh))

    def nobody_is_left_without_an_answer(self) -> None:
        self.driver.commits_at_once = True
        # The initial delay may be extended up to the rebalance timeout; then a phase of joins, then one of syncs.
        self.driver.pass_time(3 * REBALANCE_MS)
        assert set(self.driver.asked) == set(self.driver.answers)
        self.driver.pass_time(2 * SESSION_MS + 2 * REBALANCE_MS)
        assert self.group.state() in ("Empty", "Dead")

    def live_group(self, shard: GroupShard) -> Group | None:
        return shard._state.groups.get("group")


def _durable(group: Group | None) -> object:
    if group is None or (group.generation == 0 and not group.members):
        return None
    members = {member.id: (member.instance_id, member.assignment) for member in group.members.values()}
    return group.state, group.generation, group.protocol, group.leader, members


TestGroupLives = pytest.mark.timeout(110)(GroupLives.TestCase)
TestGroupLives.settings = settings(
    max_examples=100, stateful_step_count=60, deadline=None, suppress_health_check=list(HealthCheck)
)
