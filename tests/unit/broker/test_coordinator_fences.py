"""Only the newest coordinator of a shard can write to it, whatever the others still have in their hands."""

from pathlib import Path

import pytest

from tests.support.batches import batch
from tests.support.hosting_broker import HostingBroker
from tidelog.group_coordinator.core.transactions.state_records import decode_key
from tidelog.kafka.cluster import CONSUMER_OFFSETS, TRANSACTION_STATE, ShardOwner
from tidelog.kafka.coordination.fencing import (
    fence_marker,
    fence_of,
    is_fence_marker,
    marker_producer_epoch,
    shard_producer_id,
)
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType, encode_marker
from tidelog.kafka.records.header import TRANSACTIONAL, read_header
from tidelog.kafka.records.record import Record, read_records

TOPIC = CONSUMER_OFFSETS.encode()
OLD, NEW = fence_of(3), fence_of(4)


def marker(epoch: int, producer_id: int | None = None) -> bytearray:
    own_id = shard_producer_id(CONSUMER_OFFSETS, 0)
    return encode_marker(
        EndTransactionMarker(MarkerType.ABORT, epoch),
        producer_id=own_id if producer_id is None else producer_id,
        producer_epoch=marker_producer_epoch(epoch),
        timestamp=1000,
    )


def record(**fields: object) -> bytearray:
    return bytearray(batch(Record(b"key", b"value", 1000), **fields))  # type: ignore[arg-type]


class Shard:
    """Partition 0 of __consumer_offsets, led by a broker that can be started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()

    def start(self) -> None:
        self.broker = HostingBroker(self.folder)
        self.broker.apply(topic=CONSUMER_OFFSETS)
        self.tell(0)

    def tell(self, epoch: int) -> None:
        """The controller speaks of the shard."""
        owner = ShardOwner(CONSUMER_OFFSETS, 0, coordinator=1, epoch=epoch)
        self.broker.view.shards[owner.topic, owner.partition] = owner

    def stop(self) -> None:
        self.broker.partitions.named(CONSUMER_OFFSETS, 0).log.close()

    def write(self, data: bytearray, fence: int, acks: int = -1) -> KafkaCode:
        production = self.broker.producing.begin(acks, "coordinator")
        self.broker.producing.append_fenced(production, TOPIC, 0, memoryview(data), fence)
        return KafkaCode(production.answers[0].error_code)


@pytest.fixture
def shard(tmp_path: Path) -> Shard:
    return Shard(tmp_path)


def test_a_coordinator_marks_the_shard_first(shard: Shard) -> None:
    assert shard.write(record(), OLD) is KafkaCode.INVALID_PRODUCER_EPOCH
    assert shard.write(marker(3), OLD) is KafkaCode.NONE
    assert shard.write(record(), OLD) is KafkaCode.NONE


def test_a_marker_of_another_producer_does_not_count(shard: Shard) -> None:
    assert shard.write(marker(3, producer_id=5), OLD) is KafkaCode.INVALID_PRODUCER_EPOCH
    assert shard.write(bytearray(b"short"), OLD) is KafkaCode.INVALID_PRODUCER_EPOCH


def test_a_successor_ends_what_its_predecessor_may_write(shard: Shard) -> None:
    shard.write(marker(3), OLD)
    assert shard.write(marker(4), NEW) is KafkaCode.NONE
    assert shard.write(record(), OLD) is KafkaCode.INVALID_PRODUCER_EPOCH
    assert shard.write(marker(3), OLD) is KafkaCode.INVALID_PRODUCER_EPOCH
    assert shard.write(record(), NEW) is KafkaCode.NONE


def test_also_offsets_of_transactions_are_fenced(shard: Shard) -> None:
    shard.write(marker(4), NEW)
    offsets = record(attributes=TRANSACTIONAL, producer=(9, 0))
    assert shard.write(bytearray(offsets), OLD) is KafkaCode.INVALID_PRODUCER_EPOCH
    assert shard.write(offsets, NEW) is KafkaCode.NONE
    ended = encode_marker(EndTransactionMarker(MarkerType.COMMIT, 0), producer_id=9, producer_epoch=0, timestamp=1)
    assert shard.write(ended, NEW) is KafkaCode.NONE


def test_a_later_attempt_in_the_same_epoch_outranks_an_earlier_one(shard: Shard) -> None:
    again = fence_of(3, attempt=1)
    shard.write(marker(3), OLD)
    assert shard.write(marker(3), again) is KafkaCode.NONE
    assert shard.write(record(), OLD) is KafkaCode.INVALID_PRODUCER_EPOCH
    assert shard.write(record(), again) is KafkaCode.NONE


def test_a_new_leader_goes_on_with_the_present_attempt_whose_marker_is_in_its_log(shard: Shard) -> None:
    again = fence_of(3, attempt=1)
    shard.write(marker(3), again)
    shard.stop()
    shard.start()
    assert shard.write(record(), again) is KafkaCode.NONE
    assert shard.write(record(), OLD) is KafkaCode.INVALID_PRODUCER_EPOCH


def test_what_the_controller_told_counts_before_the_new_owner_has_written(shard: Shard) -> None:
    shard.write(marker(3), OLD)
    shard.tell(4)
    assert shard.write(record(), OLD) is KafkaCode.INVALID_PRODUCER_EPOCH
    assert shard.write(marker(4), NEW) is KafkaCode.NONE


def test_a_shard_of_which_nothing_was_told_is_written_by_nobody(shard: Shard) -> None:
    shard.broker.view.shards.clear()
    assert shard.write(marker(3), OLD) is KafkaCode.LEADER_NOT_AVAILABLE


@pytest.mark.parametrize("topic", [CONSUMER_OFFSETS, TRANSACTION_STATE])
def test_markers_are_known_by_their_form(topic: str) -> None:
    assert is_fence_marker(fence_marker(topic, 3, NEW, 1000), topic, 3)
    assert not is_fence_marker(record(), topic, 3)
    assert not is_fence_marker(b"", topic, 3)
    broken = fence_marker(topic, 3, NEW, 1000)
    broken[57:61] = bytes(4)
    assert is_fence_marker(broken, topic, 3) is (topic == CONSUMER_OFFSETS), "records are looked at where they tell"


def test_the_marker_of_transactions_is_a_plain_batch() -> None:
    header = read_header(fence_marker(TRANSACTION_STATE, 3, NEW, 1000))
    assert (header.attributes, header.producer_id) == (0, -1)


@pytest.mark.parametrize("epoch", [4, 40_000])
def test_the_log_remembers_the_newest_epoch(shard: Shard, epoch: int) -> None:
    shard.write(marker(epoch), fence_of(epoch))
    shard.stop()
    shard.start()
    assert shard.write(record(), fence_of(epoch - 1)) is KafkaCode.INVALID_PRODUCER_EPOCH
    assert shard.write(record(), fence_of(epoch)) is KafkaCode.NONE


def test_a_refused_marker_raises_nothing(shard: Shard) -> None:
    shard.write(marker(3), OLD)
    broken = marker(4)
    broken[-1] ^= 1
    assert shard.write(broken, NEW) is KafkaCode.CORRUPT_MESSAGE
    assert shard.write(record(), OLD) is KafkaCode.NONE


def test_who_does_not_lead_says_so_first(shard: Shard) -> None:
    shard.write(marker(4), NEW)
    shard.broker.apply(epoch=1, leader=2, topic=CONSUMER_OFFSETS, replicas=(1, 2))
    assert shard.write(record(), OLD) is KafkaCode.NOT_LEADER_OR_FOLLOWER


def test_ordinary_topics_have_no_coordinators_and_clients_no_internal_ones(shard: Shard) -> None:
    shard.broker.apply()
    production = shard.broker.producing.begin(-1, "client")
    shard.broker.producing.append_fenced(production, b"t", 0, memoryview(record()), NEW)
    shard.broker.producing.append(production, TOPIC, 0, memoryview(record()))
    shard.broker.producing.append_fenced(production, b"other", 0, memoryview(record()), NEW)
    assert [answer.error_code for answer in production.answers] == [
        KafkaCode.INVALID_REQUEST,
        KafkaCode.INVALID_TOPIC_EXCEPTION,
        KafkaCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_markers_of_transactions_go_to_ordinary_topics_only(shard: Shard) -> None:
    shard.broker.apply()
    ended = encode_marker(EndTransactionMarker(MarkerType.COMMIT, 0), producer_id=9, producer_epoch=0, timestamp=1)
    production = shard.broker.producing.begin(-1, "coordinator")
    for topic in (b"t", TOPIC):
        shard.broker.producing.append_marker(production, topic, 0, 9, memoryview(bytearray(ended)))
    assert [answer.error_code for answer in production.answers] == [0, KafkaCode.NOT_LEADER_OR_FOLLOWER]


def test_a_transactional_batch_needs_a_transactional_id(shard: Shard) -> None:
    shard.broker.apply()
    written = record(attributes=TRANSACTIONAL, producer=(9, 0), sequence=0)
    production = shard.broker.producing.begin(-1, "client")
    shard.broker.producing.append(production, b"t", 0, memoryview(bytearray(written)))
    named = shard.broker.producing.begin(-1, "client", is_transactional=True)
    shard.broker.producing.append(named, b"t", 0, memoryview(written))
    assert production.answers[0].error_code == KafkaCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert named.answers[0].error_code == 0


def test_a_loading_shard_passes_over_the_marker_of_transactions() -> None:
    (stored,) = read_records(fence_marker(TRANSACTION_STATE, 3, NEW, 1000))
    assert decode_key(stored.key or b"") is None, "a key of a version that no coordinator knows"
