"""A cluster with group coordinators in the hands of a test: who owns which shard, and members that ask by hand."""

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from tests.support.cluster_view import Zookeeper
from tests.support.kafka_calls import call
from tests.support.services import Service
from tests.support.waiting import WAIT_S, eventually
from tidelog.kafka.cluster import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.kafka.coordination.sharding import shard_of
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.kafka.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest
from tidelog.kafka.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from tidelog.kafka.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.kafka.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tidelog.kafka.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.kafka.wire.schema import Request, Response

R = TypeVar("R", bound=Response)

PARTITIONS = 5
SESSION_TIMEOUT_MS = 30_000
FIND, JOIN, SYNC, HEARTBEAT, COMMIT, FETCH = 3, 9, 5, 4, 8, 7
# What a client takes as "look for the coordinator and ask again".
TRY_AGAIN = frozenset(
    {
        KafkaCode.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaCode.COORDINATOR_NOT_AVAILABLE,
        KafkaCode.NOT_COORDINATOR,
    }
)


@dataclass
class Coordinated:
    """The brokers and coordinators by id, and ZooKeeper beside them."""

    brokers: dict[int, Service]
    coordinators: dict[int, Service]
    zk: Zookeeper

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.kafka for broker in self.brokers.values())

    def create(self, name: str, partitions: int = 1, replicas: int = 3) -> str:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=20_000)
        assert [each.error_code for each in call(self.any_broker(), request, 7).topics] == [KafkaCode.NONE]
        return name

    def any_broker(self) -> Service:
        return next(broker for broker in self.brokers.values() if broker.process.poll() is None)

    def shard(self, key: str, topic: str = CONSUMER_OFFSETS) -> tuple[int, int]:
        """Coordinator and epoch of the shard that holds a group or a transactional id, as ZooKeeper has it."""
        path = f"/coordinators/shards/{topic}/{shard_of(key, PARTITIONS)}"
        stored = json.loads(self.zk.client.get(path)[0])
        return int(stored["coordinator"]), int(stored["epoch"])

    def owner_of_group(self, group: str) -> Service:
        return self.coordinators[self.shard(group)[0]]

    def owner_of_transactions(self, transactional_id: str) -> Service:
        return self.coordinators[self.shard(transactional_id, TRANSACTION_STATE)[0]]

    def coordinator_broker(self, key: str, key_type: int = 0) -> Service:
        """The broker that clients are told to ask."""

        def found() -> Service | None:
            answer = call(self.any_broker(), FindCoordinatorRequest(key=key, key_type=key_type), FIND)
            return self.brokers[answer.node_id] if answer.error_code == KafkaCode.NONE else None

        return eventually(found)

    def ask(
        self, group: str, request: Request[R], version: int, code_of: Callable[[R], int], seconds: float = WAIT_S
    ) -> R:
        """As a client does: ask the group's broker, and again while it says that it is not to be asked now."""

        def answered() -> R | None:
            answer = call(self.coordinator_broker(group), request, version)
            return None if code_of(answer) in TRY_AGAIN else answer

        return eventually(answered, seconds)


def subscription(*topics: str) -> bytes:
    names = b"".join(struct.pack(">h", len(topic)) + topic.encode() for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


class Member:
    """One member of a group that does what it is told to, and nothing by itself."""

    def __init__(self, cluster: Coordinated, group: str, session_timeout_ms: int = SESSION_TIMEOUT_MS) -> None:
        self.cluster = cluster
        self.group = group
        self.session_timeout_ms = session_timeout_ms
        self.member_id = ""
        self.generation_id = -1

    def join(self) -> JoinGroupResponse:
        """Join, with the round trip for an id, and wait for the others. An id that was forgotten is asked for anew."""
        answer = self._join()
        while answer.error_code in (KafkaCode.MEMBER_ID_REQUIRED, KafkaCode.UNKNOWN_MEMBER_ID):
            self.member_id = answer.member_id if answer.error_code == KafkaCode.MEMBER_ID_REQUIRED else ""
            answer = self._join()
        assert answer.error_code == KafkaCode.NONE, KafkaCode(answer.error_code)
        self.member_id, self.generation_id = answer.member_id, answer.generation_id
        return answer

    def sync(self, assignments: Mapping[str, bytes]) -> bytes:
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation_id,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in assignments.items()
            ],
        )
        answer = self.cluster.ask(self.group, request, SYNC, lambda answer: answer.error_code)
        assert answer.error_code == KafkaCode.NONE, KafkaCode(answer.error_code)
        return answer.assignment

    def heartbeat(self) -> KafkaCode:
        answer = self.cluster.ask(self.group, self.heartbeat_request(), HEARTBEAT, lambda answer: answer.error_code)
        return KafkaCode(answer.error_code)

    def heartbeat_request(self) -> HeartbeatRequest:
        return HeartbeatRequest(group_id=self.group, generation_id=self.generation_id, member_id=self.member_id)

    def commit(self, topic: str, offset: int) -> KafkaCode:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=self.generation_id,
            member_id=self.member_id,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=[partition])],
        )
        answer = self.cluster.ask(self.group, request, COMMIT, lambda answer: answer.topics[0].partitions[0].error_code)
        return KafkaCode(answer.topics[0].partitions[0].error_code)

    def _join(self) -> JoinGroupResponse:
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.session_timeout_ms,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription("t"))],
        )
        return self.cluster.ask(self.group, request, JOIN, lambda answer: answer.error_code)


def committed(cluster: Coordinated, group: str, topic: str) -> int:
    """The offset that the group has committed for partition 0; -1 for none."""
    request = OffsetFetchRequest(
        group_id=group, topics=[OffsetFetchRequestTopic(name=topic, partition_indexes=[0])], require_stable=True
    )
    answer = cluster.ask(group, request, FETCH, lambda answer: answer.error_code)
    assert answer.error_code == KafkaCode.NONE, KafkaCode(answer.error_code)
    return answer.topics[0].partitions[0].committed_offset
