"""Updates that come late: what the controller gave up and repeated may arrive after what it told next."""

import pytest

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.rpc import types_pb2
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.readiness import Readiness

TOPIC = "__consumer_offsets"


@pytest.fixture
def mirror() -> ClusterMirror:
    return ClusterMirror(Readiness(), lambda: 50)


def update(sequence: int, owner: int, controller_epoch: int = 3) -> types_pb2.UpdateMetadataRequest:
    """The shard's owner, who is the only broker as well."""
    return types_pb2.UpdateMetadataRequest(
        controller_id=1,
        controller_epoch=controller_epoch,
        recipient_epoch=50,
        brokers=[types_pb2.Member(id=owner)],
        shards=[types_pb2.ShardOwner(topic=TOPIC, partition=0, coordinator=owner)],
        sequence=sequence,
    )


def owner_of(mirror: ClusterMirror) -> int:
    (broker,) = mirror.view.brokers
    assert mirror.view.shards[TOPIC, 0].coordinator == broker
    return broker


def test_updates_are_taken_in_the_order_of_their_numbers(mirror: ClusterMirror) -> None:
    for sequence in (4, 5, 9):
        mirror.take(update(sequence, sequence))
        assert owner_of(mirror) == sequence


def test_an_update_that_comes_after_a_later_one_changes_nothing(mirror: ClusterMirror) -> None:
    mirror.take(update(5, 7))
    changed = mirror.next_change
    mirror.take(update(4, 6))
    assert owner_of(mirror) == 7
    assert not changed.is_set()
    mirror.take(update(6, 8))
    assert owner_of(mirror) == 8


def test_the_next_controller_counts_from_the_start(mirror: ClusterMirror) -> None:
    mirror.take(update(500, 7))
    mirror.take(update(1, 8, controller_epoch=4))
    assert owner_of(mirror) == 8
    with pytest.raises(KafkaError) as refused:
        mirror.take(update(501, 7))
    assert refused.value.code is KafkaCode.STALE_CONTROLLER_EPOCH
    assert owner_of(mirror) == 8


def test_updates_without_numbers_come_in_one_stream(mirror: ClusterMirror) -> None:
    for owner in (7, 8):
        mirror.take(update(0, owner))
        assert owner_of(mirror) == owner
