"""Random events in random order: what must hold in every moment, and what must hold at rest."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.controller_driver import Driven, ModelCluster, tp
from tests.support.zookeeper_model import Change
from tidelog.controller.core.effects import Send, Tell, TellOne
from tidelog.controller.core.events import (
    ControlledShutdownRequested,
    CreatePartitionsRequested,
    CreateTopicsRequested,
    DeleteTopicsRequested,
    ElectLeadersRequested,
    ReassignmentsRequested,
    RebalanceDue,
)
from tidelog.controller.core.requests import LeaderAndIsr
from tidelog.controller.core.topic_checks import MorePartitions, NewTopic
from tidelog.controller.core.zk_requests import Write
from tidelog.kafka.cluster import LEADER_DURING_DELETE, NO_LEADER, PartitionView, Role
from tidelog.kafka.types import TopicPartition
from tidelog.zk.operations import SetData
from tidelog.zk.znodes import PartitionState, PartitionStateZnode

BROKERS = (1, 2, 3, 4)
TOPICS = ("a", "b")
LATER_MS = 1 << 40

brokers = st.sampled_from(BROKERS)
partitions = st.builds(tp, st.sampled_from(TOPICS), st.integers(0, 2))


class ControllerMachine(RuleBasedStateMachine):
    """One cluster in memory, up to three controllers one after the other, and every state that was ever written."""

    @initialize()
    def begin(self) -> None:
        self.cluster = ModelCluster(seed=7)
        self.cluster.on_changed = self._on_change
        self.cluster.on_sent = self._on_sent
        self.cluster.on_told = self._on_told
        self.history: dict[tuple[str, TopicPartition, int], PartitionState] = {}
        self.leaders: dict[tuple[str, TopicPartition, int], int] = {}
        self.newest: dict[TopicPartition, tuple[str, PartitionState]] = {}
        self.requests = 0
        self.leader_writes = False
        for id in BROKERS[:3]:
            self.cluster.start_broker(id)
        self.cluster.write_topic("a", {0: (1, 2, 3), 1: (2, 3)})
        self.active: Driven = self.cluster.controller()

    # What is watched all the time

    def _on_change(self, change: Change) -> None:
        words = change.path.split("/")
        if len(words) != 7 or words[-1] != "state" or not change.is_there:
            return
        partition = tp(words[3], int(words[5]))
        node = self.cluster.zk.get(change.path)
        assert node is not None
        self._check_state(partition, PartitionStateZnode.decode(node.data), node.version)

    def _check_state(self, partition: TopicPartition, state: PartitionState, version: int) -> None:
        topic = self.cluster.topic(partition.topic)
        life = str(topic.topic_id)
        assert state.isr, "an ISR is never empty"
        assert state.leader == NO_LEADER or state.leader in state.isr
        assert state.leader == NO_LEADER or state.leader in topic.partitions[partition.partition].replicas
        last_life, last = self.newest.get(partition, ("", state))
        if last_life == life:
            assert state.leader_epoch >= last.leader_epoch, "a leader epoch never falls"
            assert self.leader_writes or state.recovering or set(state.isr) <= set(last.isr), (
                "only leaders add to an ISR"
            )
        self.newest[partition] = (life, state)
        if state.leader != NO_LEADER:
            known = self.leaders.setdefault((life, partition, state.leader_epoch), state.leader)
            assert known == state.leader, "one leader an epoch"
        self.history[life, partition, version] = state

    def _on_sent(self, send: Send) -> None:
        if isinstance(send.request, LeaderAndIsr):
            ids = dict(send.request.topic_ids)
            for each in send.request.partitions:
                self._check_told(str(ids[each.topic]), each.partition, each.state)

    def _on_told(self, effect: Tell | TellOne) -> None:
        for topic in effect.update.topics:
            for view in topic.partitions.values():
                if view.leader != LEADER_DURING_DELETE:
                    self._check_told(str(topic.topic_id), tp(topic.name, view.index), view)

    def _check_told(self, life: str, partition: TopicPartition, view: PartitionView) -> None:
        written = self.history[life, partition, view.partition_epoch]
        assert (written.leader, written.isr, written.leader_epoch) == (view.leader, view.isr, view.leader_epoch), (
            "nothing is told that was not written"
        )

    # What happens

    @rule(count=st.integers(1, 30))
    def some_steps(self, count: int) -> None:
        for _ in range(count):
            self.active.step()

    @rule()
    def rest(self) -> None:
        self.active.run()

    @rule()
    def fail_over(self) -> None:
        self.active = self.cluster.controller(len(self.cluster.controllers))
        # Deposed controllers still move now and then.
        for former in self.cluster.controllers[:-1][-2:]:
            former.step()

    @rule(id=brokers)
    def start_or_bounce(self, id: int) -> None:
        self.cluster.start_broker(id)

    @rule(id=brokers)
    def kill(self, id: int) -> None:
        if id in self.cluster.brokers:
            self.cluster.kill_broker(id)

    @rule(name=st.sampled_from(TOPICS), count=st.integers(1, 2), factor=st.integers(1, 3))
    def create(self, name: str, count: int, factor: int) -> None:
        self.active.post(CreateTopicsRequested(self._next(), (NewTopic(name, count, factor),), LATER_MS))

    @rule(name=st.sampled_from(TOPICS))
    def grow(self, name: str) -> None:
        self.active.post(CreatePartitionsRequested(self._next(), (MorePartitions(name, 3),), LATER_MS))

    @rule(name=st.sampled_from(TOPICS))
    def delete(self, name: str) -> None:
        self.active.post(DeleteTopicsRequested(self._next(), (name,), LATER_MS))

    @rule(partition=partitions, replicas=st.none() | st.lists(brokers, min_size=1, max_size=3, unique=True))
    def reassign(self, partition: TopicPartition, replicas: list[int] | None) -> None:
        wanted = None if replicas is None else tuple(replicas)
        self.active.post(ReassignmentsRequested(self._next(), {partition: wanted}))

    @rule(unclean=st.booleans())
    def elect(self, unclean: bool) -> None:
        self.active.post(ElectLeadersRequested(self._next(), None, unclean))

    @rule()
    def rebalance(self) -> None:
        self.active.post(RebalanceDue())

    @rule(id=brokers)
    def shut_down(self, id: int) -> None:
        member = self.cluster.members[Role.BROKER].get(id)
        if member is not None:
            self.active.post(ControlledShutdownRequested(self._next(), id, member.epoch))

    @rule(partition=partitions, keep=st.sets(brokers), announce=st.booleans())
    def isr_changes(self, partition: TopicPartition, keep: set[int], announce: bool) -> None:
        self.leader_changes_isr(partition, keep, announce=announce)

    def leader_changes_isr(self, partition: TopicPartition, keep: set[int], *, announce: bool) -> None:
        """Also by a leader that is dead to the controller and does not know it. New members are live replicas."""
        if self.cluster.zk.get(PartitionStateZnode.path(partition)) is None:
            return
        leader = self.cluster.state(partition).leader
        replicas = self.cluster.topic(partition.topic).partitions[partition.partition].replicas
        if leader not in replicas:
            return
        others = [id for id in replicas if id in keep and id in self.cluster.brokers and id != leader]
        self.leader_writes = True
        self.cluster.write_isr(partition, leader, *others, announce=announce)
        self.leader_writes = False

    @rule(keep=st.sets(brokers))
    def leader_writes_first(self, keep: set[int]) -> None:
        """States were read and decided on, and before they are written their leaders write them."""
        while not self._states_to_write() and self.active.step():
            pass
        for partition in self._states_to_write():
            self.leader_changes_isr(partition, keep, announce=False)

    def _states_to_write(self) -> list[TopicPartition]:
        request = self.active.zk_request
        paths = (
            [op.path.split("/") for op in request.ops if isinstance(op, SetData)] if isinstance(request, Write) else []
        )
        return [tp(words[3], int(words[5])) for words in paths if words[-1] == "state"]

    @rule(id=brokers, partition=partitions, fails=st.booleans())
    def disk(self, id: int, partition: TopicPartition, fails: bool) -> None:
        if id in self.cluster.brokers:
            failed = self.cluster.brokers[id].failed_dirs
            (failed.add if fails else failed.discard)(partition)

    def _next(self) -> int:
        self.requests += 1
        return self.requests

    # What holds at rest

    @invariant()
    def memory_agrees_with_zookeeper_at_rest(self) -> None:
        machine = self.active.core.machine
        if self.active.busy or machine is None or not machine.loaded:
            return
        context = machine.work.context
        for partition, leadership in context.leaderships.items():
            state = self.cluster.state(partition)
            assert (leadership.leader, leadership.leader_epoch) == (state.leader, state.leader_epoch)
            if context.is_live(leadership.leader, partition) or context.is_deleting(partition.topic):
                continue
            live = {id for id in context.replicas(partition) if context.is_live(id, partition)}
            assert (
                leadership.leader not in self.cluster.brokers
                or leadership.leader in context.shutting_down
                or (partition in context.offline_dirs.get(leadership.leader, ()))
            )
            assert not live & set(leadership.isr), f"{partition} could have a leader: {leadership} {live}"

    def teardown(self) -> None:
        """With every broker back and sound, everything comes to rest and every partition has a leader."""
        for id in BROKERS:
            self.cluster.start_broker(id)
        self.active.run()
        machine = self.active.core.machine
        assert machine is not None
        assert machine.loaded
        for partition in machine.work.context.partitions_with_leaders():
            assert self.cluster.state(partition).leader in self.cluster.brokers
        assert machine.work.context.topics_to_delete <= {p.topic for p in machine.work.context.reassigning}


TestController = ControllerMachine.TestCase
TestController.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
