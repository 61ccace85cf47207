"""What a client is told when a record of __transaction_state could not be appended."""

from collections.abc import Mapping

from tidelog.kafka.errors import KafkaCode

_K = KafkaCode
# COORDINATOR_NOT_AVAILABLE: ask here again. NOT_COORDINATOR: look for the coordinator again.
_TOLD: Mapping[KafkaCode, KafkaCode] = {
    _K.UNKNOWN_TOPIC_OR_PARTITION: _K.COORDINATOR_NOT_AVAILABLE,
    _K.NOT_ENOUGH_REPLICAS: _K.COORDINATOR_NOT_AVAILABLE,
    _K.NOT_ENOUGH_REPLICAS_AFTER_APPEND: _K.COORDINATOR_NOT_AVAILABLE,
    _K.REQUEST_TIMED_OUT: _K.COORDINATOR_NOT_AVAILABLE,
    _K.LEADER_NOT_AVAILABLE: _K.COORDINATOR_NOT_AVAILABLE,
    _K.NETWORK_EXCEPTION: _K.COORDINATOR_NOT_AVAILABLE,
    _K.NOT_LEADER_OR_FOLLOWER: _K.NOT_COORDINATOR,
    _K.KAFKA_STORAGE_ERROR: _K.NOT_COORDINATOR,
    # The log holds the fence of a newer owner of the shard.
    _K.INVALID_PRODUCER_EPOCH: _K.NOT_COORDINATOR,
    _K.MESSAGE_TOO_LARGE: _K.UNKNOWN_SERVER_ERROR,
    _K.RECORD_LIST_TOO_LARGE: _K.UNKNOWN_SERVER_ERROR,
}


def append_refused(code: KafkaCode) -> KafkaCode:
    """What the requests that wait for the append are answered with."""
    return _TOLD.get(code, code)
