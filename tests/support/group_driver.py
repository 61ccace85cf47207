"""A shell for one shard of groups without IO: a log in a list, a clock that is moved by hand, members that ask."""

import struct
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, TypeVar

from tidelog.group_coordinator.core.groups.effects import Effects, PhaseOver, Rebalance, Write
from tidelog.group_coordinator.core.groups.limits import GroupLimits
from tidelog.group_coordinator.core.groups.shard import GroupShard
from tidelog.group_coordinator.core.groups.turn import Caller
from tidelog.group_coordinator.core.records import CoordinatorRecord
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest
from tidelog.kafka.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from tidelog.kafka.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, LeavingMember
from tidelog.kafka.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.kafka.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponsePartition,
)
from tidelog.kafka.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tidelog.kafka.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from tidelog.kafka.wire.schema import Request, Response

START_MS = 1_700_000_000_000
JOIN, SYNC, HEARTBEAT, LEAVE, COMMIT, FETCH = 9, 5, 4, 5, 8, 7
LIMITS = GroupLimits(initial_rebalance_delay_ms=0)

R = TypeVar("R", bound=Response)
Offsets = dict[tuple[str, int], int | tuple[int, str | None] | tuple[int, str | None, int]]


def subscription(*topics: str) -> bytes:
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", 0)


ANY = subscription("any")


class Asked:
    """A request that was handed in; it may have been answered."""

    def __init__(self, driver: "GroupDriver", token: int) -> None:
        self._driver = driver
        self.token = token

    @property
    def is_waiting(self) -> bool:
        return self.token not in self._driver.answers

    @property
    def answer(self) -> Any:
        return self._driver.answers[self.token]

    @property
    def error(self) -> KafkaCode:
        return KafkaCode(self.answer.error_code)


class GroupDriver:
    def __init__(self, limits: GroupLimits = LIMITS, exists: Callable[[str, int], bool] | None = None) -> None:
        self.limits = limits
        self.exists = exists or (lambda _topic, partition: partition < 10)
        self.now_ms = START_MS
        self.answers: dict[int, Response] = {}
        self.asked: dict[int, Request[Any]] = {}
        self.rebalances: list[Rebalance] = []
        self.phases: list[PhaseOver] = []
        self.offsets_committed = 0
        # The log: records with the producer's id, or the end of a transaction.
        self.log: list[tuple[CoordinatorRecord, int | None] | tuple[bool, int]] = []
        self.writes: deque[Write] = deque()
        self.commits_at_once = True
        self._tokens = count(1)
        self._uuids = count(1)
        self.shard = self.loaded()

    def loaded(self) -> GroupShard:
        """A shard that knows what the log knows."""
        shard = GroupShard(self.limits, self.exists, lambda: f"{next(self._uuids):036d}")
        for entry, producer_id in self.log:
            if isinstance(entry, CoordinatorRecord):
                shard.replay(entry, producer_id)
            else:
                assert producer_id is not None
                shard.on_transaction_marker(producer_id, committed=entry)
        assert shard.activate(self.now_ms).replies == ()
        return shard

    def fail_over(self) -> None:
        self.run(self.shard.unload(self.now_ms))
        self.shard = self.loaded()

    # ---- the shell's part

    def run(self, effects: Effects) -> None:
        self.rebalances += effects.rebalances
        self.phases += effects.phases
        self.offsets_committed += effects.offsets_committed
        for token, answer in effects.replies:
            assert isinstance(token, int)
            assert token not in self.answers, "answered twice"
            self.answers[token] = answer
        self.writes += effects.writes
        while self.commits_at_once and self.writes:
            self.commit_next()

    def commit_next(self) -> None:
        write = self.writes.popleft()
        producer_id = write.producer.producer_id if write.producer is not None else None
        self.log += [(record, producer_id) for record in write.records]
        self.run(self.shard.on_committed(write, self.now_ms))

    def fail_next(self, code: KafkaCode) -> None:
        self.run(self.shard.on_append_failed(self.writes.popleft(), code, self.now_ms))

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        self.log.append((committed, producer_id))
        self.shard.on_transaction_marker(producer_id, committed=committed)

    def pass_time(self, ms: int) -> None:
        """Let time pass, stopping at each deadline as a timer would."""
        end_ms = self.now_ms + ms
        while (at_ms := self.shard.next_deadline_ms()) is not None and at_ms <= end_ms:
            self.now_ms = max(self.now_ms, at_ms)
            self.run(self.shard.on_time(self.now_ms))
        self.now_ms = end_ms

    # ---- asking

    def send(self, request: Request[Any], version: int, client_id: str = "client") -> Asked:
        token = next(self._tokens)
        self.asked[token] = request
        # What cannot be decoded in this version is not there, and what is answered can be encoded.
        request = type(request).decode(version, request.encode(version))
        self.run(self.shard.handle(request, Caller(token, version, client_id, "/127.0.0.1"), self.now_ms))
        self.pass_time(0)
        if token in self.answers:
            self.answers[token].encode(version)
        return Asked(self, token)

    def call(self, request: Request[R], version: int) -> R:
        answer: R = self.send(request, version).answer
        return answer

    def records(self) -> list[CoordinatorRecord]:
        return [entry for entry, _ in self.log if isinstance(entry, CoordinatorRecord)]


class GroupScene:
    """One group of a driver."""

    def __init__(self, driver: GroupDriver, name: str = "group") -> None:
        self.driver, self.name = driver, name

    def member(self, **settings: Any) -> "MemberScene":
        return MemberScene(self, **settings)

    def stable(self, member_count: int = 1, **settings: Any) -> "list[MemberScene]":
        return self.grow([], [self.member(**settings) for _ in range(member_count)])

    def grow(self, members: "list[MemberScene]", newcomers: "list[MemberScene]") -> "list[MemberScene]":
        """Add members one by one, each time with a whole rebalance; member i gets the assignment b"share-i"."""
        for new in newcomers:
            joining = [new.join_later(), *[member.join_later() for member in members]]
            assert [asked.error for asked in joining] == [KafkaCode.NONE] * len(joining)
            members = [*members, new]
            sync_all(members)
        return members

    def describe(self) -> DescribedGroup:
        return self.driver.call(DescribeGroupsRequest(groups=[self.name]), 5).groups[0]

    def state(self) -> str:
        return self.describe().group_state

    def leave(self, *members: LeavingMember, version: int = LEAVE) -> LeaveGroupResponse:
        return self.driver.call(LeaveGroupRequest(group_id=self.name, members=list(members)), version)

    def commit_later(self, offsets: Offsets, version: int = COMMIT, **who: Any) -> Asked:
        request = OffsetCommitRequest(group_id=self.name, topics=offset_topics(offsets), **who)
        return self.driver.send(request, version)

    def commit(self, offsets: Offsets, version: int = COMMIT, **who: Any) -> dict[tuple[str, int], int]:
        return partition_errors(self.commit_later(offsets, version, **who))

    def commit_in_transaction(
        self, offsets: Offsets, producer_id: int = 7, version: int = 3, **who: Any
    ) -> dict[tuple[str, int], int]:
        return partition_errors(self.commit_in_transaction_later(offsets, producer_id, version, **who))

    def commit_in_transaction_later(
        self, offsets: Offsets, producer_id: int = 7, version: int = 3, **who: Any
    ) -> Asked:
        topics = [
            TxnOffsetCommitRequestTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=p.partition_index,
                        committed_offset=p.committed_offset,
                        committed_leader_epoch=p.committed_leader_epoch,
                        committed_metadata=p.committed_metadata,
                    )
                    for p in topic.partitions
                ],
            )
            for topic in offset_topics(offsets)
        ]
        fields: dict[str, Any] = {"group_id": self.name, "transactional_id": "t", "producer_id": producer_id} | who
        return self.driver.send(TxnOffsetCommitRequest(topics=topics, **fields), version)

    def fetch(
        self, partitions: list[tuple[str, int]] | None = None, *, require_stable: bool = False
    ) -> dict[tuple[str, int], OffsetFetchResponsePartition]:
        topics = (
            None
            if partitions is None
            else [OffsetFetchRequestTopic(name=topic, partition_indexes=[number]) for topic, number in partitions]
        )
        request = OffsetFetchRequest(group_id=self.name, topics=topics, require_stable=require_stable)
        answer = self.driver.call(request, FETCH)
        return {(topic.name, p.partition_index): p for topic in answer.topics for p in topic.partitions}

    def committed(
        self, partitions: list[tuple[str, int]] | None = None, *, require_stable: bool = False
    ) -> dict[tuple[str, int], int]:
        return {tp: p.committed_offset for tp, p in self.fetch(partitions, require_stable=require_stable).items()}


class MemberScene:
    def __init__(
        self,
        group: GroupScene,
        *,
        instance: str | None = None,
        protocols: tuple[tuple[str, bytes], ...] = (("range", ANY),),
        protocol_type: str = "consumer",
        session_ms: int = 30_000,
        rebalance_ms: int = 15_000,
        client_id: str = "client",
    ) -> None:
        self.group, self.driver, self.instance = group, group.driver, instance
        self.protocols, self.protocol_type, self.client_id = protocols, protocol_type, client_id
        self.session_ms, self.rebalance_ms = session_ms, rebalance_ms
        self.id, self.generation, self.leader = "", -1, ""
        self.protocol: str | None = None
        self._join: Asked | None = None

    def send_join(self, version: int = JOIN, **changed: Any) -> Asked:
        """One JoinGroup, as it is."""
        fields: dict[str, Any] = {
            "group_id": self.group.name,
            "session_timeout_ms": self.session_ms,
            "rebalance_timeout_ms": self.rebalance_ms,
            "member_id": self.id,
            "group_instance_id": self.instance,
            "protocol_type": self.protocol_type,
            "protocols": [JoinGroupRequestProtocol(name=name, metadata=data) for name, data in self.protocols],
        }
        return self.driver.send(JoinGroupRequest(**(fields | changed)), version, self.client_id)

    def take_id(self, version: int = JOIN) -> str:
        asked = self.send_join(version)
        assert asked.error is KafkaCode.MEMBER_ID_REQUIRED
        self.id = asked.answer.member_id
        return self.id

    def join_later(self, version: int = JOIN, **changed: Any) -> Asked:
        if version >= 4 and not self.id and self.instance is None:
            self.take_id(version)
        self._join = self.send_join(version, **changed)
        return self._join

    def join(self, version: int = JOIN, **changed: Any) -> JoinGroupResponse:
        answer: JoinGroupResponse = self.join_later(version, **changed).answer
        self.learn()
        return answer

    def learn(self) -> None:
        """Look at the answer to the last JoinGroup."""
        if self._join is None or self._join.is_waiting or self._join.error is not KafkaCode.NONE:
            return
        answer = self._join.answer
        self.id, self.generation = answer.member_id, answer.generation_id
        self.leader, self.protocol = answer.leader, answer.protocol_name

    def send_sync(self, assignments: dict[str, bytes] | None = None, version: int = SYNC, **changed: Any) -> Asked:
        self.learn()
        fields: dict[str, Any] = {
            "group_id": self.group.name,
            "generation_id": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol,
            "assignments": [
                SyncGroupRequestAssignment(member_id=member_id, assignment=data)
                for member_id, data in (assignments or {}).items()
            ],
        }
        return self.driver.send(SyncGroupRequest(**(fields | changed)), version)

    def sync(
        self, assignments: dict[str, bytes] | None = None, version: int = SYNC, **changed: Any
    ) -> SyncGroupResponse:
        answer: SyncGroupResponse = self.send_sync(assignments, version, **changed).answer
        return answer

    def heartbeat(self, version: int = HEARTBEAT, **changed: Any) -> KafkaCode:
        self.learn()
        fields: dict[str, Any] = {
            "group_id": self.group.name,
            "generation_id": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
        }
        return self.driver.send(HeartbeatRequest(**(fields | changed)), version).error

    def leave(self) -> KafkaCode:
        answer = self.group.leave(LeavingMember(member_id=self.id, group_instance_id=self.instance))
        return KafkaCode(answer.members[0].error_code)

    def commit(self, offsets: Offsets, **changed: Any) -> dict[tuple[str, int], int]:
        who: dict[str, Any] = {
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
        }
        return self.group.commit(offsets, **(who | changed))


def sync_all(members: list[MemberScene]) -> None:
    for member in members:
        member.learn()
    shares = {member.id: b"share-%d" % i for i, member in enumerate(members)}
    for member in sorted(members, key=lambda member: member.id != member.leader):
        answer = member.sync(shares if member.id == member.leader else None)
        assert (answer.error_code, answer.assignment) == (KafkaCode.NONE, shares[member.id])


def rejoin_all(members: list[MemberScene], **changed: Any) -> list[JoinGroupResponse]:
    """Take a stable group, the leader first, to CompletingRebalance."""
    asked = [member.join_later(**changed) for member in members]
    for member in members:
        member.learn()
    return [one.answer for one in asked]


def offset_topics(offsets: Offsets) -> list[OffsetCommitRequestTopic]:
    return [
        OffsetCommitRequestTopic(name=topic, partitions=[_offset_partition(number, given)])
        for (topic, number), given in offsets.items()
    ]


def _offset_partition(
    number: int, given: int | tuple[int, str | None] | tuple[int, str | None, int]
) -> OffsetCommitRequestPartition:
    offset, metadata, epoch = (*(given if isinstance(given, tuple) else (given, "")), -1)[:3]
    return OffsetCommitRequestPartition(
        partition_index=number, committed_offset=offset, committed_metadata=metadata, committed_leader_epoch=epoch
    )


def partition_errors(asked: Asked) -> dict[tuple[str, int], int]:
    return dict(_partition_errors(asked.answer))


def _partition_errors(answer: Any) -> Iterator[tuple[tuple[str, int], int]]:
    for topic in answer.topics:
        for partition in topic.partitions:
            yield (topic.name, partition.partition_index), partition.error_code
