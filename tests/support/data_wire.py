"""Produce and Fetch as a test speaks them: one partition at a time, messages in and out of the codec."""

from typing import Any

from tests.support.batches import batch
from tests.support.fake_controller import FakeController
from tests.support.waiting import WAIT_S
from tidelog.kafka.records.header import whole_batches
from tidelog.kafka.records.record import Record, read_records
from tidelog.kafka.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from tidelog.kafka.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from tidelog.net.connection import Connection


def produce_request(
    topic: str, data: bytes | None, partition: int = 0, acks: int = -1, timeout_ms: int = 5000
) -> ProduceRequest:
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=data)])],
    )


async def produce(
    connection: Connection,
    topic: str,
    data: bytes | None,
    partition: int = 0,
    *,
    version: int = 9,
    acks: int = -1,
    timeout_ms: int = 5000,
) -> PartitionProduceResponse:
    request = produce_request(topic, data, partition, acks, timeout_ms)
    answer = await connection.call(request, version, timeout_s=WAIT_S)
    assert [one.name for one in answer.responses] == [topic]
    (found,) = answer.responses[0].partition_responses
    assert found.index == partition
    return found


def fetch_request(topic: str, offset: int = 0, partition: int = 0, **more: Any) -> FetchRequest:
    asked = FetchPartition(
        partition=partition,
        fetch_offset=offset,
        partition_max_bytes=more.pop("partition_max_bytes", 10_000_000),
        current_leader_epoch=more.pop("leader_epoch", -1),
        last_fetched_epoch=more.pop("last_fetched_epoch", -1),
    )
    fields = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 50_000_000, **more}
    topic_id = fields.pop("topic_id", None)
    named = FetchTopic(topic=topic, partitions=[asked])
    if topic_id is not None:
        named.topic_id = topic_id
    return FetchRequest(topics=[named], **fields)


async def fetch_all(connection: Connection, request: FetchRequest, version: int = 11) -> FetchResponse:
    return await connection.call(request, version, timeout_s=WAIT_S)


async def fetch(
    connection: Connection, topic: str, offset: int = 0, partition: int = 0, *, version: int = 11, **more: Any
) -> PartitionData:
    answer = await fetch_all(connection, fetch_request(topic, offset, partition, **more), version)
    (found,) = answer.responses[0].partitions
    return found


def values(data: PartitionData) -> list[bytes | None]:
    raw = data.records or b""
    return [
        record.value
        for position, header in whole_batches(raw)
        for record in read_records(raw[position : position + header.size])
    ]


async def three_batches(connection: Connection, topic: str, partition: int = 0) -> None:
    for numbers in (b"012", b"345", b"6"):
        data = batch(*[Record(None, bytes([number]), 1000) for number in numbers])
        assert (await produce(connection, topic, data, partition)).error_code == 0


def host_and_port(controller: FakeController) -> tuple[str, int]:
    host, port = controller.broker.kafka.split(":")
    return host, int(port)
