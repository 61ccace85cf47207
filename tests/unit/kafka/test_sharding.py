"""Which shard holds what."""

import pytest

from tidelog.kafka.coordination.sharding import shard_of


def test_group_of_the_documentation() -> None:
    assert shard_of("KafkaConsumerDemo", 50) == 35


# The hash of the first is negative, and that of the second is Java's smallest int, which has no positive counterpart.
@pytest.mark.parametrize(("name", "shard"), [("orders", 31), ("polygenelubricants", 0)])
def test_negative_hashes(name: str, shard: int) -> None:
    assert shard_of(name, 50) == shard
