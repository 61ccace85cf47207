"""Which partition of an internal topic holds a transactional id, or a group."""

from tidelog.kafka.types import java_hash


def shard_of_transactional_id(transactional_id: str, partition_count: int) -> int:
    """The partition of __transaction_state that holds this id."""
    return _partition_of(transactional_id, partition_count)


def offsets_partition_of(group_id: str, partition_count: int) -> int:
    """The partition of __consumer_offsets that holds this group."""
    return _partition_of(group_id, partition_count)


def _partition_of(text: str, partition_count: int) -> int:
    number = java_hash(text)
    # Java has no positive counterpart of its smallest int; Kafka takes 0 for it.
    return (0 if number == -(1 << 31) else abs(number)) % partition_count
