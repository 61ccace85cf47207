"""Runs controller cores against a ZooKeeper in memory and brokers that only listen and answer."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import TYPE_CHECKING

from tests.support import zookeeper_model as model
from tests.support.zookeeper_model import Change, ModelError, ModelZooKeeper
from tidelog.controller.core.context import Context
from tidelog.controller.core.controller import Controller
from tidelog.controller.core.effects import (
    Effect,
    Note,
    Reply,
    Resign,
    Send,
    Tell,
    TellOne,
    Unwatch,
    Watch,
    WatchKind,
    What,
    Zk,
)
from tidelog.controller.core.events import (
    ControllerMoved,
    ControllerSeen,
    Elected,
    Event,
    LeaderAndIsrAnswered,
    MembersChanged,
    Registered,
    StopReplicaAnswered,
    ZkAnswered,
    ZnodeChanged,
)
from tidelog.controller.core.requests import LeaderAndIsr, StopReplica
from tidelog.controller.core.work import Settings
from tidelog.controller.core.zk_requests import (
    DeleteTrees,
    Found,
    Names,
    Nodes,
    Outcome,
    Outcomes,
    Read,
    ReadChildren,
    Refusal,
    WriteOp,
    Written,
    ZkAnswer,
    ZkRequest,
)
from tidelog.kafka.cluster import Member, Role
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    CoordinatorId,
    Endpoint,
    LeaderEpoch,
    PartitionIndex,
    TopicName,
    TopicPartition,
)
from tidelog.zk.operations import Check, Create, SetData
from tidelog.zk.znodes import (
    TOP_LEVEL_NODES,
    BrokerIdZnode,
    BrokerRegistration,
    ControllerEpochZnode,
    CoordinatorIdZnode,
    IsrChangeZnode,
    PartitionState,
    PartitionStateZnode,
    ReplicaAssignment,
    TopicAssignment,
    TopicZnode,
)

if TYPE_CHECKING:
    from tidelog.controller.core.answers import Answer

_REFUSALS = {
    model.NoNode: Refusal.NO_NODE,
    model.NodeExists: Refusal.NODE_EXISTS,
    model.BadVersion: Refusal.BAD_VERSION,
    model.NotEmpty: Refusal.NOT_EMPTY,
}


def tp(topic: str, partition: int = 0) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionIndex(partition))


class FakeBroker:
    """Remembers what it was told, and answers; log directories can fail and deletions be refused."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.requests: list[LeaderAndIsr | StopReplica] = []
        self.failed_dirs: set[TopicPartition] = set()
        self.refuses_deletion = False

    def answer(self, send: Send) -> Event:
        request = send.request
        self.requests.append(request)
        if isinstance(request, LeaderAndIsr):
            codes = {each.partition: self._storage_code(each.partition) for each in request.partitions}
            return LeaderAndIsrAnswered(self.id, send.broker_epoch, KafkaCode.NONE, codes)
        refused = KafkaCode.KAFKA_STORAGE_ERROR if self.refuses_deletion else KafkaCode.NONE
        stopped = {each.partition: refused if each.delete else KafkaCode.NONE for each in request.partitions}
        return StopReplicaAnswered(self.id, send.broker_epoch, request, KafkaCode.NONE, stopped)

    def _storage_code(self, partition: TopicPartition) -> KafkaCode:
        return KafkaCode.KAFKA_STORAGE_ERROR if partition in self.failed_dirs else KafkaCode.NONE


class Driven:
    """One controller process. Nothing happens but by `step`, `run` or `post`."""

    def __init__(self, cluster: "ModelCluster", id: int) -> None:
        self.id = id
        self.core = Controller(
            id, early_fencing=True, settings=cluster.settings, randomness=Random(cluster.random.getrandbits(32))
        )
        self.events: deque[Event] = deque()
        self.effects: list[Effect] = []
        self.answers: dict[int, Answer] = {}
        self._cluster = cluster
        self._zk: Zk | None = None
        self._watches: set[tuple[str, WatchKind]] = set()
        self._epoch_version = -1

    @property
    def context(self) -> Context:
        assert self.core.machine is not None, "not active"
        return self.core.machine.work.context

    @property
    def busy(self) -> bool:
        return self._zk is not None or bool(self.events)

    @property
    def zk_request(self) -> ZkRequest | None:
        """What it waits for ZooKeeper to answer."""
        return self._zk.request if self._zk else None

    def elect(self) -> None:
        """Win the election for the next epoch."""
        zk = self._cluster.zk
        node = zk.get(ControllerEpochZnode.PATH)
        epoch = int(node.data) + 1 if node else 1
        zk.put(ControllerEpochZnode.PATH, str(epoch).encode())
        found = zk.get(ControllerEpochZnode.PATH)
        assert found is not None
        self._epoch_version = found.version
        self.handle(Registered())
        self.handle(ControllerSeen(None, found.version - 1))
        self.handle(Elected(epoch, found.version))

    def post(self, event: Event) -> None:
        self.events.append(event)

    def step(self) -> bool:
        """Execute the ZooKeeper request under way, or hand over the next event. False if there is neither."""
        if self._zk is not None:
            zk, self._zk = self._zk, None
            answer = self._execute(zk.request)
            self.handle(ControllerMoved(self.core.controller_epoch) if answer is None else ZkAnswered(zk.tag, answer))
        elif self.events:
            self.handle(self.events.popleft())
        else:
            return False
        return True

    def run(self, steps_max: int = 100_000) -> None:
        while steps_max and self.step():
            steps_max -= 1
        assert steps_max, "it never comes to rest"

    def handle(self, event: Event) -> None:
        for effect in self.core.on(event):
            self.effects.append(effect)
            self._perform(effect)

    def notes(self, what: What) -> list[Note]:
        return [effect for effect in self.effects if isinstance(effect, Note) and effect.what is what]

    def on_change(self, change: Change) -> None:
        if (change.path, WatchKind.DATA) in self._watches:
            self.post(ZnodeChanged(change.path))
        came_or_went = change.was_there != change.is_there
        if came_or_went and (change.parent, WatchKind.CHILDREN) in self._watches:
            self.post(ZnodeChanged(change.parent))

    def _perform(self, effect: Effect) -> None:
        match effect:
            case Zk():
                assert self._zk is None, "one request at a time"
                self._zk = effect
            case Watch(path, kind):
                self._watches.add((path, kind))
                self.post(ZnodeChanged(path))
            case Unwatch(path):
                self._watches = {watch for watch in self._watches if watch[0] != path}
            case Send():
                self._cluster.deliver(self, effect)
            case Tell() | TellOne():
                self._cluster.on_told(effect)
            case Reply(request, answer):
                assert request not in self.answers, "one answer a request"
                self.answers[request] = answer
            case Resign():
                self._zk = None
                self._watches.clear()

    def _execute(self, request: ZkRequest) -> ZkAnswer | None:
        """None if another controller was elected since."""
        zk = self._cluster.zk
        match request:
            case Read(paths):
                found = map(zk.get, paths)
                return Nodes(tuple(Found(node.data, node.version) if node else None for node in found))
            case ReadChildren(paths):
                return Names(tuple(map(zk.children, paths)))
            case DeleteTrees(paths):
                if not self._is_epoch_ours():
                    return None
                for path in paths:
                    zk.delete_tree(path)
                return Outcomes(())
            case _:
                return self._write(request.ops)

    def _is_epoch_ours(self) -> bool:
        node = self._cluster.zk.get(ControllerEpochZnode.PATH)
        return node is not None and node.version == self._epoch_version

    def _write(self, ops: Iterable[WriteOp]) -> Outcomes | None:
        outcomes: list[Outcome] = []
        for op in ops:
            try:
                result = self._cluster.zk.multi([Check(ControllerEpochZnode.PATH, self._epoch_version), op])[1]
            except ModelError as error:
                if error.index == 0:
                    return None
                outcomes.append(_REFUSALS[type(error)])
            else:
                outcomes.append(Written(result if isinstance(result, int) else 0))
        return Outcomes(tuple(outcomes))


class ModelCluster:
    """ZooKeeper, brokers and controllers; nothing moves but by the controllers' steps."""

    def __init__(self, settings: Settings | None = None, seed: int = 0) -> None:
        self.settings = settings or Settings()
        self.random = Random(seed)
        self.zk = ModelZooKeeper()
        self.controllers: list[Driven] = []
        self.brokers: dict[int, FakeBroker] = {}
        self.members: dict[Role, dict[int, Member]] = {Role.BROKER: {}, Role.GROUP_COORDINATOR: {}}
        self.on_sent: Callable[[Send], None] = lambda _: None
        self.on_told: Callable[[Tell | TellOne], None] = lambda _: None
        self.on_changed: Callable[[Change], None] = lambda _: None
        for path in TOP_LEVEL_NODES:
            self.zk.ensure(path)
        self.zk.on_change = self._on_change

    # Processes

    def controller(self, id: int = 0) -> Driven:
        """A controller that was elected; it has done nothing yet."""
        driven = Driven(self, id)
        self.controllers.append(driven)
        for role, members in self.members.items():
            driven.handle(MembersChanged(role, dict(members)))
        driven.elect()
        return driven

    def start_broker(self, id: int, rack: str | None = None) -> None:
        endpoints = (Endpoint("PLAINTEXT", "localhost", 9092 + id),)
        registration = BrokerRegistration.of(endpoints, {"PLAINTEXT": "PLAINTEXT"}, timestamp_ms=0, rack=rack)
        self.zk.delete_tree(BrokerIdZnode.path(BrokerId(id)))
        self.zk.ensure(BrokerIdZnode.path(BrokerId(id)), BrokerIdZnode.encode(registration))
        node = self.zk.get(BrokerIdZnode.path(BrokerId(id)))
        assert node is not None
        self.brokers[id] = FakeBroker(id)
        self._set_member(Role.BROKER, id, Member(id, BrokerEpoch(node.czxid), endpoints, rack))

    def kill_broker(self, id: int) -> None:
        self.zk.delete_tree(BrokerIdZnode.path(BrokerId(id)))
        del self.brokers[id]
        self._set_member(Role.BROKER, id, None)

    def start_coordinator(self, id: int) -> None:
        self.zk.ensure(CoordinatorIdZnode.path(CoordinatorId(id)))
        self._set_member(Role.GROUP_COORDINATOR, id, Member(id, BrokerEpoch(self.zk.zxid + id), ()))

    def kill_coordinator(self, id: int) -> None:
        self.zk.delete_tree(CoordinatorIdZnode.path(CoordinatorId(id)))
        self._set_member(Role.GROUP_COORDINATOR, id, None)

    def deliver(self, controller: Driven, send: Send) -> None:
        self.on_sent(send)
        member = self.members[Role.BROKER].get(send.broker)
        if member is not None and member.epoch == send.broker_epoch:
            controller.post(self.brokers[send.broker].answer(send))

    # What tools and leaders write

    def write_topic(self, topic: str, assignments: Mapping[int, tuple[int, ...]]) -> None:
        """A topic's znode, as a tool writes it: with no id if the topic is new."""
        known = self.topic(topic) if self.zk.get(TopicZnode.path(TopicName(topic))) else None
        replicas = {PartitionIndex(p): ReplicaAssignment(tuple(map(BrokerId, ids))) for p, ids in assignments.items()}
        data = TopicZnode.encode(TopicAssignment(known.topic_id if known else None, replicas))
        self.zk.put(TopicZnode.path(TopicName(topic)), data)

    def topic(self, topic: str) -> TopicAssignment:
        node = self.zk.get(TopicZnode.path(TopicName(topic)))
        assert node is not None, f"no topic {topic}"
        return TopicZnode.decode(node.data)

    def state(self, partition: TopicPartition) -> PartitionState:
        node = self.zk.get(PartitionStateZnode.path(partition))
        assert node is not None, f"{partition} has no state"
        return PartitionStateZnode.decode(node.data)

    def lead(self, partition: TopicPartition) -> tuple[int, tuple[int, ...], int]:
        """Leader, ISR and leader epoch."""
        state = self.state(partition)
        return state.leader, state.isr, state.leader_epoch

    def write_isr(self, partition: TopicPartition, *isr: int, announce: bool = True) -> None:
        """As the leader changes the ISR: epochs stay as they are."""
        node, state = self.zk.get(PartitionStateZnode.path(partition)), self.state(partition)
        assert node is not None
        data = PartitionStateZnode.encode(
            PartitionState(state.leader, state.leader_epoch, tuple(map(BrokerId, isr)), state.controller_epoch)
        )
        self.zk.multi([SetData(PartitionStateZnode.path(partition), data, node.version)])
        if announce:
            self.zk.multi([Create(IsrChangeZnode.CREATE_PATH, IsrChangeZnode.encode([partition]), sequence=True)])

    def write_state(self, partition: TopicPartition, leader: int, epoch: int, isr: Iterable[int], by: int = 0) -> None:
        """A state of the past."""
        state = PartitionState(BrokerId(leader), LeaderEpoch(epoch), tuple(map(BrokerId, isr)), ControllerEpoch(by))
        self.zk.put(PartitionStateZnode.path(partition), PartitionStateZnode.encode(state))

    def _set_member(self, role: Role, id: int, member: Member | None) -> None:
        members = {other: each for other, each in self.members[role].items() if other != id}
        self.members[role] = members if member is None else {**members, id: member}
        for controller in self.controllers:
            controller.post(MembersChanged(role, dict(self.members[role])))

    def _on_change(self, change: Change) -> None:
        for controller in self.controllers:
            controller.on_change(change)
        self.on_changed(change)
