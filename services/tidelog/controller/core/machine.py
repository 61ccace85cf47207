"""The active controller's work on topics, partitions and replicas: one event at a time, each handled to its end.

A handler waits whenever it needs ZooKeeper; events that come meanwhile queue up. The first handler is the take-over, and
until that is done nothing else is handled. Dropping a machine, as resigning does, drops whatever it was doing: all it has
written is in ZooKeeper, and the next controller goes on from there.
"""

from collections import deque
from collections.abc import Mapping

from tidelog.controller.core import admin, brokers, deletion, failover, partition_states, preferred, shards
from tidelog.controller.core.active import compare
from tidelog.controller.core.effects import Effect, Reply, TellOne, Zk
from tidelog.controller.core.events import (
    AdminRequest,
    ClusterEvent,
    ElectionsDue,
    LeaderAndIsrAnswered,
    MembersChanged,
    RebalanceDue,
    StopReplicaAnswered,
    Ticked,
    ZkAnswered,
    ZnodeChanged,
)
from tidelog.controller.core.waiting import WaitingAnswers
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task, ZkAnswer
from tidelog.controller.core.znode_changes import on_znodes_changed, same_kind
from tidelog.kafka.cluster import Member, MetadataUpdate, Role
from tidelog.kafka.errors import KafkaCode

Members = Mapping[Role, Mapping[int, Member]]
Queued = ClusterEvent | MembersChanged


class Machine:
    """From an election to the resignation. Raises EpochIsOver when it finds the trace of a later controller."""

    def __init__(self, work: Work) -> None:
        self.loaded = False
        self.work = work
        self._members: dict[Role, Mapping[int, Member]] = {}
        self._inbox: deque[Queued] = deque()
        self._changed_paths: set[str] = set()
        self._task: Task[None] | None = None
        # Tags of one epoch are not those of another: an answer that comes late is nobody's.
        self._tag = work.controller_epoch << 32
        self._waiting = WaitingAnswers()
        self._unanswered: dict[int, AdminRequest] = {}

    def start(self, members: Members) -> list[Effect]:
        self._members.update(members)
        self._task = self._take_over()
        return self._advance(None)

    def on(self, event: Queued) -> list[Effect]:
        match event:
            case ZkAnswered(tag, answer):
                return self._advance(answer) if self._task and tag == self._tag else []
            case Ticked(now_ms):
                return self._replied(self._waiting.expired(now_ms))
            case ZnodeChanged(path):
                if path in self._changed_paths:
                    return []
                self._changed_paths.add(path)
            case _ if isinstance(event, AdminRequest):
                self._unanswered[event.request] = event
        self._inbox.append(event)
        return [] if self._task else self._advance(None)

    def abandon(self) -> list[Effect]:
        """Answers for everybody who still waits for one: this controller is over."""
        return [admin.not_active(event) for event in self._unanswered.values()]

    def whole_update(self) -> MetadataUpdate:
        """Everything there is to tell; the members alone until the rest is known."""
        return brokers.whole_update(self.work) if self.loaded else self.work.base_update()

    def _advance(self, answer: ZkAnswer | None) -> list[Effect]:
        """Run tasks until one waits for ZooKeeper or nothing is left to do."""
        while self._task or self._begin_next():
            assert self._task is not None, "a task was begun"
            try:
                request = next(self._task) if answer is None else self._task.send(answer)
            except StopIteration:
                self._task = None
                self.work.outbox += self._waiting.completed()
            else:
                self._tag += 1
                self.work.outbox.append(Zk(self._tag, request))
                break
            answer = None
        effects, self.work.outbox = self.work.outbox, []
        return self._replied(effects)

    def _replied(self, effects: list[Effect] | list[Reply]) -> list[Effect]:
        for effect in effects:
            if isinstance(effect, Reply):
                self._unanswered.pop(effect.request, None)
        return list(effects)

    def _begin_next(self) -> bool:
        if not self.loaded:
            self._task = self._take_over() if self._heed_members() else None
        elif self._inbox:
            self._task = self._handle(self._inbox.popleft())
        return self._task is not None

    def _heed_members(self) -> bool:
        """Before the take-over only news of members counts; whether there was any."""
        news = [event for event in self._inbox if isinstance(event, MembersChanged)]
        self._inbox = deque(event for event in self._inbox if not isinstance(event, MembersChanged))
        self._members.update((event.role, event.members) for event in news)
        return bool(news)

    def _take_over(self) -> Task[None]:
        brokers_known = self._members.get(Role.BROKER, {})
        if (yield from failover.knows_all_brokers(brokers_known)):
            self.work.context.brokers.update(brokers_known)
            self.work.context.coordinators.update(self._members.get(Role.GROUP_COORDINATOR, {}))
            yield from failover.take_over(self.work)
            self.loaded = True

    def _handle(self, event: Queued) -> Task[None]:
        work = self.work
        match event:
            case MembersChanged(Role.BROKER, members):
                return brokers.on_brokers_changed(work, members)
            case MembersChanged(Role.GROUP_COORDINATOR, members):
                return self._on_coordinators_changed(members)
            case ZnodeChanged(path):
                return self._on_znode_changed(path)
            case LeaderAndIsrAnswered():
                return self._on_leader_and_isr_answered(event)
            case StopReplicaAnswered():
                return self._on_stop_replica_answered(event)
            case RebalanceDue():
                return preferred.rebalance(work)
            case ElectionsDue():
                return partition_states.elect_where_needed(work)
            case _ if isinstance(event, AdminRequest):
                return admin.serve(work, self._waiting, event)
            case _:
                raise AssertionError(f"{event} is not queued")

    def _on_znode_changed(self, path: str) -> Task[None]:
        """Everything of one kind that has changed meanwhile is read together."""
        if path in self._changed_paths:
            paths = same_kind(path, self._changed_paths)
            self._changed_paths -= paths
            yield from on_znodes_changed(self.work, paths)

    def _on_coordinators_changed(self, members: Mapping[int, Member]) -> Task[None]:
        context = self.work.context
        change = compare(context.coordinators, members)
        context.coordinators = dict(members)
        fresh = (*change.new, *change.bounced, *change.moved)
        update = brokers.whole_update(self.work)
        self.work.outbox += [TellOne(Role.GROUP_COORDINATOR, each.id, each.epoch, update) for each in fresh]
        yield from shards.place_where_needed(self.work)

    def _on_leader_and_isr_answered(self, event: LeaderAndIsrAnswered) -> Task[None]:
        if self._is_current(event) and event.code is KafkaCode.NONE:
            yield from brokers.on_leader_and_isr_answered(self.work, event.broker, event.partitions)

    def _on_stop_replica_answered(self, event: StopReplicaAnswered) -> Task[None]:
        if self._is_current(event):
            asked = [each.partition for each in event.request.partitions if each.delete]
            codes = {p: event.code or event.partitions.get(p, KafkaCode.UNKNOWN_SERVER_ERROR) for p in asked}
            failed = [(p, event.broker) for p, code in codes.items() if code is not KafkaCode.NONE]
            yield from deletion.on_replicas_not_deleted(self.work, failed, f"broker {event.broker} failed to delete")
            deleted = [(p, event.broker) for p, code in codes.items() if code is KafkaCode.NONE]
            yield from deletion.on_replicas_deleted(self.work, deleted)

    def _is_current(self, event: LeaderAndIsrAnswered | StopReplicaAnswered) -> bool:
        """An answer of an incarnation that is gone says nothing of the one that is there."""
        member = self.work.context.brokers.get(event.broker)
        return member is not None and member.epoch == event.broker_epoch
