"""Which partition of an internal topic holds a group or a transactional id."""

from tidelog.kafka.types import java_hash


def shard_of(name: str, partition_count: int) -> int:
    """The partition of __consumer_offsets that holds this group, or of __transaction_state that holds this id."""
    number = java_hash(name)
    # Java has no positive counterpart of its smallest int; Kafka takes 0 for it.
    return (0 if number == -(1 << 31) else abs(number)) % partition_count
