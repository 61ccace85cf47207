"""What tools and brokers ask of the controller through ZooKeeper, and what brokers tell it."""

from collections.abc import Iterable, Mapping

from tidelog.kafka.types import BrokerId, PartitionIndex, TopicName, TopicPartition
from tidelog.zk.znodes.encoding import Fields, encode_json

DELETE_TOPICS = "/admin/delete_topics"
ISR_CHANGES = "/isr_change_notification"
ISR_CHANGE_PREFIX = "isr_change_"
LOG_DIR_EVENTS = "/log_dir_event_notification"
LOG_DIR_EVENT_PREFIX = "log_dir_event_"

_LOG_DIR_FAILURE = 1


class DeleteTopicZnode:
    """/admin/delete_topics/T: null data; the topic is to be deleted."""

    @staticmethod
    def path(topic: TopicName) -> str:
        return f"{DELETE_TOPICS}/{topic}"


class ReassignPartitionsZnode:
    """/admin/reassign_partitions.

    v1 {"version":1,"partitions":[{"topic":"T","partition":0,"replicas":[1,2]}]}
    """

    PATH = "/admin/reassign_partitions"

    @staticmethod
    def encode(targets: Mapping[TopicPartition, Iterable[BrokerId]]) -> bytes:
        moves = [{**_partition_fields(partition), "replicas": list(brokers)} for partition, brokers in targets.items()]
        return encode_json({"version": 1, "partitions": moves})

    @staticmethod
    def decode(data: bytes) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        moves = Fields.parse(data, ReassignPartitionsZnode.PATH).objects("partitions")
        return {_partition(move): tuple(map(BrokerId, move.integers("replicas"))) for move in moves}


class PreferredElectionZnode:
    """/admin/preferred_replica_election.

    v1 {"version":1,"partitions":[{"topic":"T","partition":0}]}
    """

    PATH = "/admin/preferred_replica_election"

    @staticmethod
    def encode(partitions: Iterable[TopicPartition]) -> bytes:
        return _encode_partitions(partitions)

    @staticmethod
    def decode(data: bytes) -> tuple[TopicPartition, ...]:
        return _decode_partitions(data, PreferredElectionZnode.PATH)


class IsrChangeZnode:
    """/isr_change_notification/isr_change_S, persistent and sequential.

    v1 {"version":1,"partitions":[{"topic":"T","partition":0}]}
    """

    CREATE_PATH = f"{ISR_CHANGES}/{ISR_CHANGE_PREFIX}"

    @staticmethod
    def encode(partitions: Iterable[TopicPartition]) -> bytes:
        return _encode_partitions(partitions)

    @staticmethod
    def decode(data: bytes) -> tuple[TopicPartition, ...]:
        return _decode_partitions(data, "isr change")


class LogDirEventZnode:
    """/log_dir_event_notification/log_dir_event_S, persistent and sequential: a log directory of this broker failed.

    v1 {"version":1,"broker":0,"event":1}
    """

    CREATE_PATH = f"{LOG_DIR_EVENTS}/{LOG_DIR_EVENT_PREFIX}"

    @staticmethod
    def encode(broker_id: BrokerId) -> bytes:
        return encode_json({"version": 1, "broker": broker_id, "event": _LOG_DIR_FAILURE})

    @staticmethod
    def decode(data: bytes) -> BrokerId:
        return BrokerId(Fields.parse(data, "log dir event").integer("broker"))


def _encode_partitions(partitions: Iterable[TopicPartition]) -> bytes:
    return encode_json({"version": 1, "partitions": [_partition_fields(partition) for partition in partitions]})


def _decode_partitions(data: bytes, where: str) -> tuple[TopicPartition, ...]:
    return tuple(map(_partition, Fields.parse(data, where).objects("partitions")))


def _partition_fields(partition: TopicPartition) -> dict[str, object]:
    return {"topic": partition.topic, "partition": partition.partition}


def _partition(fields: Fields) -> TopicPartition:
    return TopicPartition(TopicName(fields.text("topic")), PartitionIndex(fields.integer("partition")))
