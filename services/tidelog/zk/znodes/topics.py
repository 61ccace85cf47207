"""Topics, their partitions, and who owns the coordinator shards."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from tidelog.kafka.types import (
    BrokerId,
    ControllerEpoch,
    CoordinatorId,
    LeaderEpoch,
    PartitionIndex,
    TopicId,
    TopicName,
    TopicPartition,
    parse_topic_id,
    topic_id_text,
)
from tidelog.zk.znodes.encoding import Fields, encode_json, parsed

TOPICS = "/brokers/topics"
SHARDS = "/coordinators/shards"


@dataclass(frozen=True, slots=True)
class ReplicaAssignment:
    """Where one partition's replicas are, and which of them come and go in a reassignment."""

    replicas: tuple[BrokerId, ...]
    adding: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicAssignment:
    """A topic's id, which topics older than Kafka 2.8 lack, and its partitions."""

    topic_id: TopicId | None
    partitions: Mapping[PartitionIndex, ReplicaAssignment]


class TopicZnode:
    """/brokers/topics/T.

    v1 {"version":1,"partitions":{"0":[1,2]}}
    v2 adds "adding_replicas":{"0":[3]} and "removing_replicas":{"0":[1]}, with only the partitions that have some
    v3 adds "topic_id":"22 characters of base64"
    """

    @staticmethod
    def path(topic: TopicName) -> str:
        return f"{TOPICS}/{topic}"

    @staticmethod
    def encode(assignment: TopicAssignment) -> bytes:
        partitions = sorted(assignment.partitions.items())
        topic_id = {} if assignment.topic_id is None else {"topic_id": topic_id_text(assignment.topic_id)}
        return encode_json(
            {
                "removing_replicas": {str(index): list(one.removing) for index, one in partitions if one.removing},
                "partitions": {str(index): list(one.replicas) for index, one in partitions},
                **topic_id,
                "adding_replicas": {str(index): list(one.adding) for index, one in partitions if one.adding},
                "version": 3,
            }
        )

    @staticmethod
    def decode(data: bytes) -> TopicAssignment:
        fields = Fields.parse(data, "topic")
        topic_id = fields.optional_text("topic_id")
        replicas = fields.object("partitions")
        adding, removing = fields.object("adding_replicas"), fields.object("removing_replicas")
        partitions = {
            PartitionIndex(parsed(int, name)): ReplicaAssignment(
                _brokers(replicas, name), _brokers(adding, name), _brokers(removing, name)
            )
            for name in sorted(replicas.names(), key=partial(parsed, int))
        }
        return TopicAssignment(None if topic_id is None else parsed(parse_topic_id, topic_id), partitions)


class TopicPartitionsZnode:
    """/brokers/topics/T/partitions: null data."""

    @staticmethod
    def path(topic: TopicName) -> str:
        return f"{TopicZnode.path(topic)}/partitions"


class TopicPartitionZnode:
    """/brokers/topics/T/partitions/P: null data."""

    @staticmethod
    def path(partition: TopicPartition) -> str:
        return f"{TopicPartitionsZnode.path(partition.topic)}/{partition.partition}"


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition's leader and in-sync replicas. The znode's version is the partition epoch."""

    leader: BrokerId
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    controller_epoch: ControllerEpoch
    recovering: bool = False


class PartitionStateZnode:
    """/brokers/topics/T/partitions/P/state.

    v1 {"controller_epoch":1,"leader":0,"version":1,"leader_epoch":0,"isr":[0,1]}, and "leader_recovery_state":1 only
    while the leader recovers from an unclean election
    """

    @staticmethod
    def path(partition: TopicPartition) -> str:
        return f"{TopicPartitionZnode.path(partition)}/state"

    @staticmethod
    def encode(state: PartitionState) -> bytes:
        recovery = {"leader_recovery_state": 1} if state.recovering else {}
        return encode_json(
            {
                "controller_epoch": state.controller_epoch,
                "leader": state.leader,
                "version": 1,
                "leader_epoch": state.leader_epoch,
                "isr": list(state.isr),
                **recovery,
            }
        )

    @staticmethod
    def decode(data: bytes) -> PartitionState:
        fields = Fields.parse(data, "partition state")
        return PartitionState(
            leader=BrokerId(fields.integer("leader")),
            leader_epoch=LeaderEpoch(fields.integer("leader_epoch")),
            isr=_brokers(fields, "isr"),
            controller_epoch=ControllerEpoch(fields.integer("controller_epoch")),
            recovering=fields.integer("leader_recovery_state", 0) == 1,
        )


NO_REGISTRATION = -1


@dataclass(frozen=True, slots=True)
class ShardAssignment:
    """The coordinator process that owns a shard, by id and registration. Every reassignment raises the epoch."""

    coordinator: CoordinatorId
    epoch: int
    coordinator_epoch: int = NO_REGISTRATION


class ShardZnode:
    """/coordinators/shards/T/P: who owns partition P of the internal topic T.

    v1 {"version":1,"coordinator":0,"epoch":3,"coordinator_epoch":57}
    """

    @staticmethod
    def path(partition: TopicPartition) -> str:
        return f"{SHARDS}/{partition.topic}/{partition.partition}"

    @staticmethod
    def encode(assignment: ShardAssignment) -> bytes:
        return encode_json(
            {
                "version": 1,
                "coordinator": assignment.coordinator,
                "epoch": assignment.epoch,
                "coordinator_epoch": assignment.coordinator_epoch,
            }
        )

    @staticmethod
    def decode(data: bytes) -> ShardAssignment:
        fields = Fields.parse(data, "shard")
        return ShardAssignment(
            CoordinatorId(fields.integer("coordinator")),
            fields.integer("epoch"),
            fields.integer("coordinator_epoch", NO_REGISTRATION),
        )


def _brokers(fields: Fields, name: str) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, fields.integers(name))) if name in fields else ()
