"""Which shard holds what."""

import pytest

from tidelog.group_coordinator.core.transactions.sharding import offsets_partition_of, shard_of_transactional_id


def test_group_of_the_documentation() -> None:
    assert offsets_partition_of("KafkaConsumerDemo", 50) == 35


# The hash of the first is negative, and that of the second is Java's smallest int, which has no positive counterpart.
@pytest.mark.parametrize(("name", "shard"), [("orders", 31), ("polygenelubricants", 0)])
def test_negative_hashes(name: str, shard: int) -> None:
    assert shard_of_transactional_id(name, 50) == shard
