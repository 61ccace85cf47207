"""What a client is told when the records of its request could not be appended.

The partition's own troubles become the coordinator's: the client must ask again, or find the coordinator anew. What is
not in a table is told as it is, such as the refusal of a producer's epoch to a transactional commit.
"""

from collections.abc import Mapping

from tidelog.kafka.errors import KafkaCode

_OF_GROUPS: Mapping[KafkaCode, KafkaCode] = {
    KafkaCode.UNKNOWN_TOPIC_OR_PARTITION: KafkaCode.COORDINATOR_NOT_AVAILABLE,
    KafkaCode.NOT_ENOUGH_REPLICAS: KafkaCode.COORDINATOR_NOT_AVAILABLE,
    KafkaCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: KafkaCode.COORDINATOR_NOT_AVAILABLE,
    KafkaCode.LEADER_NOT_AVAILABLE: KafkaCode.COORDINATOR_NOT_AVAILABLE,
    KafkaCode.NETWORK_EXCEPTION: KafkaCode.COORDINATOR_NOT_AVAILABLE,
    KafkaCode.NOT_LEADER_OR_FOLLOWER: KafkaCode.NOT_COORDINATOR,
    KafkaCode.KAFKA_STORAGE_ERROR: KafkaCode.NOT_COORDINATOR,
    KafkaCode.REQUEST_TIMED_OUT: KafkaCode.REBALANCE_IN_PROGRESS,
    KafkaCode.MESSAGE_TOO_LARGE: KafkaCode.UNKNOWN_SERVER_ERROR,
    KafkaCode.RECORD_LIST_TOO_LARGE: KafkaCode.UNKNOWN_SERVER_ERROR,
    KafkaCode.INVALID_FETCH_SIZE: KafkaCode.UNKNOWN_SERVER_ERROR,
    # Only the shard's own epoch can be refused here: a newer coordinator has the shard.
    KafkaCode.INVALID_PRODUCER_EPOCH: KafkaCode.NOT_COORDINATOR,
}

_OF_OFFSETS: Mapping[KafkaCode, KafkaCode] = {
    KafkaCode.UNKNOWN_TOPIC_OR_PARTITION: KafkaCode.COORDINATOR_NOT_AVAILABLE,
    KafkaCode.NOT_ENOUGH_REPLICAS: KafkaCode.COORDINATOR_NOT_AVAILABLE,
    KafkaCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: KafkaCode.COORDINATOR_NOT_AVAILABLE,
    KafkaCode.LEADER_NOT_AVAILABLE: KafkaCode.COORDINATOR_NOT_AVAILABLE,
    KafkaCode.NOT_LEADER_OR_FOLLOWER: KafkaCode.NOT_COORDINATOR,
    KafkaCode.KAFKA_STORAGE_ERROR: KafkaCode.NOT_COORDINATOR,
    KafkaCode.MESSAGE_TOO_LARGE: KafkaCode.INVALID_COMMIT_OFFSET_SIZE,
    KafkaCode.RECORD_LIST_TOO_LARGE: KafkaCode.INVALID_COMMIT_OFFSET_SIZE,
    KafkaCode.INVALID_FETCH_SIZE: KafkaCode.INVALID_COMMIT_OFFSET_SIZE,
    KafkaCode.NETWORK_EXCEPTION: KafkaCode.COORDINATOR_LOAD_IN_PROGRESS,
}


def group_error(code: KafkaCode) -> KafkaCode:
    return _OF_GROUPS.get(code, code)


def offset_error(code: KafkaCode, *, is_transactional: bool = False) -> KafkaCode:
    if code is KafkaCode.INVALID_PRODUCER_EPOCH and not is_transactional:
        return KafkaCode.NOT_COORDINATOR
    return _OF_OFFSETS.get(code, code)
