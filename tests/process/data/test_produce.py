"""Produce through a real broker: offsets, refusals, acks, timestamps, sequences, codecs."""

import asyncio
import time

import pytest

from tests.support.batches import batch, plain
from tests.support.data_wire import fetch, produce, produce_request
from tests.support.fake_controller import FakeController
from tests.support.waiting import WAIT_S
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.header import read_header
from tidelog.kafka.records.record import Record
from tidelog.kafka.wire.headers import encode_request
from tidelog.kafka.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.net.connection import Connection


@pytest.mark.parametrize("version", range(3, 12))
@pytest.mark.parametrize("acks", [1, -1])
async def test_produced_records_have_the_next_offsets_in_every_version(
    controller: FakeController, connection: Connection, topic: str, version: int, acks: int
) -> None:
    controller.create(topic)
    for base in (0, 3):
        answer = await produce(connection, topic, bytes(plain(count=3)), version=version, acks=acks)
        assert (answer.error_code, answer.base_offset, answer.log_append_time_ms) == (0, base, -1)
        assert answer.log_start_offset == (0 if version >= 5 else -1)
        assert (answer.record_errors, answer.error_message) == ([], None)
    assert (await fetch(connection, topic)).high_watermark == 6


@pytest.mark.parametrize("version", range(3))
async def test_produce_before_record_batches_is_refused(
    controller: FakeController, connection: Connection, topic: str, version: int
) -> None:
    controller.create(topic)
    answer = await produce(connection, topic, b"old", version=version, acks=1)
    assert (answer.error_code, answer.base_offset) == (KafkaCode.UNSUPPORTED_VERSION, -1)


async def test_an_unknown_topic_or_partition(controller: FakeController, connection: Connection, topic: str) -> None:
    controller.create(topic)
    for name, partition in (("missing", 0), (topic, 1), (topic, -1)):
        answer = await produce(connection, name, bytes(plain()), partition)
        assert (answer.error_code, answer.base_offset) == (KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
        got = await fetch(connection, name, partition=partition)
        assert (got.error_code, got.high_watermark, got.records) == (3, -1, b"")


async def test_a_partition_that_another_broker_leads(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    state = controller.create(topic)
    moved = controller.state(0, leader=7, isr=[7], replicas=[7], leader_epoch=4)
    controller.topics[topic].partitions[0].CopyFrom(moved)
    controller.update_metadata()
    assert controller.stop(topic).partitions[0].error_code == 0
    answer = await produce(connection, topic, bytes(plain()), version=10)
    assert answer.error_code == KafkaCode.NOT_LEADER_OR_FOLLOWER
    assert answer.current_leader is not None
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (7, 4)
    assert (await fetch(connection, topic, version=12)).error_code == KafkaCode.NOT_LEADER_OR_FOLLOWER
    assert state.name == topic


BAD: dict[str, tuple[bytes | None, KafkaCode]] = {
    "null": (None, KafkaCode.INVALID_RECORD),
    "empty": (b"", KafkaCode.INVALID_RECORD),
    "checksum": (batch(Record(None, b"v", 0), crc=1), KafkaCode.CORRUPT_MESSAGE),
    "two batches": (bytes(plain()) * 2, KafkaCode.INVALID_RECORD),
    "old magic": (batch(Record(None, b"v", 0), magic=1), KafkaCode.INVALID_RECORD),
    "count": (batch(Record(None, b"v", 0), count=2), KafkaCode.INVALID_RECORD),
    "too large": (bytes(plain(b"x" * 1_100_000)), KafkaCode.MESSAGE_TOO_LARGE),
}


@pytest.mark.parametrize(("data", "code"), BAD.values(), ids=BAD)
async def test_bad_batches_are_refused_and_nothing_is_appended(
    controller: FakeController, connection: Connection, topic: str, data: bytes | None, code: KafkaCode
) -> None:
    controller.create(topic)
    answer = await produce(connection, topic, data)
    assert (answer.error_code, answer.base_offset) == (code, -1)
    assert answer.error_message
    assert (await produce(connection, topic, bytes(plain()))).base_offset == 0


@pytest.mark.parametrize("acks", [7, 2, -2])
async def test_other_acks_are_refused(
    controller: FakeController, connection: Connection, topic: str, acks: int
) -> None:
    controller.create(topic)
    assert (await produce(connection, topic, bytes(plain()), acks=acks)).error_code == KafkaCode.INVALID_REQUIRED_ACKS
    assert (await fetch(connection, topic)).high_watermark == 0


async def test_acks_0_is_not_answered(controller: FakeController, connection: Connection, topic: str) -> None:
    controller.create(topic)
    connection.send(encode_request(produce_request(topic, bytes(plain()), acks=0), 9, 999, "test"))
    assert (await fetch(connection, topic)).high_watermark == 1, "the next answer belongs to the next request"


@pytest.mark.parametrize("partition", [0, 5])
async def test_acks_0_with_an_error_closes_the_connection(
    controller: FakeController, connection: Connection, topic: str, partition: int
) -> None:
    controller.create(topic)
    data = bytes(plain()) if partition else batch(Record(None, b"v", 0), crc=1)
    connection.send(encode_request(produce_request(topic, data, partition, acks=0), 9, 999, "test"))
    await asyncio.wait_for(connection.closed(), WAIT_S)


async def test_internal_topics_take_nothing_from_clients(controller: FakeController, connection: Connection) -> None:
    controller.create("__consumer_offsets")
    answer = await produce(connection, "__consumer_offsets", bytes(plain()))
    assert answer.error_code == KafkaCode.INVALID_TOPIC_EXCEPTION


async def test_many_partitions_with_one_bad_among_them(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic, partitions=5)
    data = [PartitionProduceData(index=index, records=bytes(plain())) for index in range(5)]
    data[2].records = batch(Record(None, b"v", 0), crc=1)
    data.append(PartitionProduceData(index=99, records=bytes(plain())))
    request = ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[TopicProduceData(name=topic, partition_data=data)])
    answer = await connection.call(request, 9, timeout_s=WAIT_S)
    codes = {one.index: one.error_code for one in answer.responses[0].partition_responses}
    assert codes == {0: 0, 1: 0, 2: KafkaCode.CORRUPT_MESSAGE, 3: 0, 4: 0, 99: KafkaCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert [(await fetch(connection, topic, partition=index)).high_watermark for index in range(5)] == [1, 1, 0, 1, 1]


async def test_log_append_time_is_in_the_answer(controller: FakeController, connection: Connection, topic: str) -> None:
    controller.create(topic, configs={"message.timestamp.type": "LogAppendTime"})
    before_ms = int(time.time() * 1000)
    answer = await produce(connection, topic, bytes(plain()))
    assert before_ms - 5 <= answer.log_append_time_ms <= time.time() * 1000 + 5
    assert read_header((await fetch(connection, topic)).records or b"").max_timestamp == answer.log_append_time_ms


async def test_records_without_keys_are_named_where_keys_are_required(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic, configs={"cleanup.policy": "compact"})
    answer = await produce(connection, topic, batch(Record(b"k", b"v", 0), Record(None, b"v", 0)))
    assert answer.error_code == KafkaCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [1]


async def test_a_repeated_batch_of_an_idempotent_producer_has_its_first_offset(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic)
    data = [batch(Record(None, b"v", 5), producer=(4711, 0), sequence=number) for number in range(3)]
    assert [(await produce(connection, topic, one)).base_offset for one in data] == [0, 1, 2]
    again = await produce(connection, topic, data[1])
    assert (again.error_code, again.base_offset, again.log_append_time_ms) == (0, 1, 5)
    gap = batch(Record(None, b"v", 5), producer=(4711, 0), sequence=9)
    assert (await produce(connection, topic, gap)).error_code == KafkaCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert (await fetch(connection, topic)).high_watermark == 3


@pytest.mark.parametrize("codec", Codec)
async def test_compressed_batches_stay_as_they_came(
    controller: FakeController, connection: Connection, topic: str, codec: Codec
) -> None:
    controller.create(topic)
    sent = batch(*[Record(b"k", b"value" * 20, 1000 + n) for n in range(50)], codec=codec)
    assert (await produce(connection, topic, sent)).error_code == 0
    assert ((await fetch(connection, topic)).records or b"")[16:] == sent[16:]


async def test_zstd_needs_version_7(controller: FakeController, connection: Connection, topic: str) -> None:
    controller.create(topic)
    sent = batch(Record(None, b"v", 0), codec=Codec.ZSTD)
    answer = await produce(connection, topic, sent, version=6)
    assert answer.error_code == KafkaCode.UNSUPPORTED_COMPRESSION_TYPE
    assert (await produce(connection, topic, sent, version=7)).error_code == 0
