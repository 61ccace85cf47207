"""Transactions at the partitions' leader: verified before they open, ended by markers, and hidden until then."""

import asyncio
import itertools

import pytest

from tests.process.relay.conftest import Cluster, name_in
from tests.support.batches import batch
from tests.support.data_wire import fetch, produce, values
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.waiting import WAIT_S
from tidelog.kafka.cluster import CONSUMER_OFFSETS
from tidelog.kafka.coordination.fencing import fence_marker, fence_of
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.header import TRANSACTIONAL
from tidelog.kafka.records.record import Record
from tidelog.kafka.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from tidelog.kafka.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.kafka.wire.messages.write_txn_markers import TxnMarker, TxnMarkerTopic, WriteTxnMarkersRequest
from tidelog.net.connection import Connection

COMMITTED = 1
_producer_ids = itertools.count(5000)


def verified(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    """Every partition is part of its transaction."""
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResult(
                transactional_id=asked.transactional_id,
                topic_results=[
                    AddPartitionsToTxnTopicResult(
                        name=topic.name,
                        results_by_partition=[
                            AddPartitionsToTxnPartitionResult(partition_index=index) for index in topic.partitions
                        ],
                    )
                    for topic in asked.topics
                ],
            )
            for asked in request.transactions
        ]
    )


async def send(
    connection: Connection, topic: str, producer_id: int, sequence: int, value: bytes, transactional_id: str | None
) -> int:
    data = batch(Record(b"k", value, 1000), attributes=TRANSACTIONAL, producer=(producer_id, 0), sequence=sequence)
    partition = PartitionProduceData(index=0, records=data)
    request = ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=5000,
        topic_data=[TopicProduceData(name=topic, partition_data=[partition])],
    )
    answer = await connection.call(request, 9, timeout_s=WAIT_S)
    return answer.responses[0].partition_responses[0].error_code


async def end(
    connection: Connection, topic: str, producer_id: int, *, commit: bool, epoch: int = 0, coordinator_epoch: int = 1
) -> int:
    marker = TxnMarker(
        producer_id=producer_id,
        producer_epoch=epoch,
        transaction_result=commit,
        topics=[TxnMarkerTopic(name=topic, partition_indexes=[0])],
        coordinator_epoch=coordinator_epoch,
    )
    answer = await connection.call(WriteTxnMarkersRequest(markers=[marker]), 1, timeout_s=WAIT_S)
    (result,) = answer.markers
    assert (result.producer_id, result.topics[0].name) == (producer_id, topic)
    return result.topics[0].partitions[0].error_code


@pytest.fixture
def topic(cluster: Cluster) -> str:
    return cluster.controller.create(f"topic-{next(_producer_ids)}").name


@pytest.fixture
def producer_id() -> int:
    return next(_producer_ids)


async def test_a_reader_of_committed_records_waits_for_the_end(
    cluster: Cluster, connection: Connection, coordinator: FakeCoordinator, topic: str, producer_id: int
) -> None:
    coordinator.answers(AddPartitionsToTxnRequest, verified)
    reader = await cluster.connect()
    for value, commit in ((b"aborted", False), (b"committed", True)):
        start = (await fetch(connection, topic)).high_watermark
        assert await send(connection, topic, producer_id, int(commit), value, name_in(0)) == 0
        waiting = asyncio.create_task(
            fetch(reader, topic, start, version=11, max_wait_ms=20_000, isolation_level=COMMITTED)
        )
        await asyncio.sleep(0.2)
        assert not waiting.done()
        assert await end(connection, topic, producer_id, commit=commit) == 0
        read = await waiting
        assert read.last_stable_offset == start + 2
        aborted = [(one.producer_id, one.first_offset) for one in read.aborted_transactions or []]
        assert aborted == ([] if commit else [(producer_id, start)])
        assert values(read)[0] == value
    reader.close()


async def test_the_first_write_asks_the_coordinator_and_the_next_does_not(
    connection: Connection, coordinator: FakeCoordinator, topic: str, producer_id: int
) -> None:
    transactional_id = name_in(0)
    sent = asyncio.create_task(send(connection, topic, producer_id, 0, b"a", transactional_id))
    asked = await coordinator.next()
    assert (asked.header.api_version, asked.broker, asked.client_host) == (4, "1", None)
    assert isinstance(asked.request, AddPartitionsToTxnRequest)
    asked.answer(verified(asked.request))
    assert await sent == 0
    assert await send(connection, topic, producer_id, 1, b"b", transactional_id) == 0
    assert len(coordinator.seen) == 1


async def test_a_write_outside_of_its_transaction(
    connection: Connection, coordinator: FakeCoordinator, topic: str, producer_id: int
) -> None:
    refused = verified(AddPartitionsToTxnRequest())
    coordinator.answers(AddPartitionsToTxnRequest, lambda _: refused)
    assert await send(connection, topic, producer_id, 0, b"a", name_in(0)) == KafkaCode.INVALID_TXN_STATE
    coordinator.answers(
        AddPartitionsToTxnRequest, lambda _: AddPartitionsToTxnResponse(error_code=KafkaCode.NOT_COORDINATOR)
    )
    assert await send(connection, topic, producer_id, 0, b"a", name_in(0)) == KafkaCode.NOT_ENOUGH_REPLICAS
    without_id = await send(connection, topic, producer_id, 0, b"a", None)
    assert without_id == KafkaCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert (await fetch(connection, topic)).high_watermark == 0


async def test_markers_that_are_refused(connection: Connection, topic: str, producer_id: int) -> None:
    assert await end(connection, topic, producer_id, commit=True, epoch=2, coordinator_epoch=5) == 0
    codes = [
        await end(connection, topic, producer_id, commit=True, epoch=1, coordinator_epoch=5),
        await end(connection, topic, producer_id, commit=True, epoch=2, coordinator_epoch=4),
        await end(connection, "none", producer_id, commit=True),
        await end(connection, CONSUMER_OFFSETS, producer_id, commit=True),
    ]
    assert codes == [
        KafkaCode.INVALID_PRODUCER_EPOCH,
        KafkaCode.TRANSACTION_COORDINATOR_FENCED,
        KafkaCode.UNKNOWN_TOPIC_OR_PARTITION,
        KafkaCode.NOT_LEADER_OR_FOLLOWER,
    ]


async def test_coordinators_write_to_their_shards_with_a_fence(cluster: Cluster, connection: Connection) -> None:
    async def write(data: bytes | bytearray, epoch: int) -> int:
        partition = PartitionProduceData(index=0, records=bytes(data), coordinator_fence=fence_of(epoch))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=5000,
            topic_data=[TopicProduceData(name=CONSUMER_OFFSETS, partition_data=[partition])],
        )
        answer = await connection.call(request, 9, timeout_s=WAIT_S)
        return answer.responses[0].partition_responses[0].error_code

    def marker(epoch: int) -> bytearray:
        return fence_marker(CONSUMER_OFFSETS, 0, fence_of(epoch), 1000)

    told, newer = 10_000, 10_001
    cluster.tell(epoch=told)
    record = batch(Record(b"key", b"value", 1000))
    assert (await produce(connection, CONSUMER_OFFSETS, record)).error_code == KafkaCode.INVALID_TOPIC_EXCEPTION
    assert await write(marker(told - 1), told - 1) == KafkaCode.INVALID_PRODUCER_EPOCH
    assert await write(marker(told), told) == 0
    assert await write(record, told) == 0
    assert await write(record, newer) == KafkaCode.INVALID_PRODUCER_EPOCH
    assert await write(marker(newer), newer) == 0
    assert await write(record, told) == KafkaCode.INVALID_PRODUCER_EPOCH
    assert await write(record, newer) == 0
