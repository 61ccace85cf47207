"""Produce, Fetch and ListOffsets over gRPC: the same data path in another coat."""

import threading
import time

from tests.support.batches import batch, plain
from tests.support.fake_controller import FakeController
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.header import whole_batches
from tidelog.kafka.records.record import Record
from tidelog.rpc import broker_pb2


def produce(controller: FakeController, topic: str, data: bytes, acks: int = -1) -> broker_pb2.ProducedPartition:
    one = broker_pb2.ProducePartition(topic=topic, partition=0, records=data)
    answer = controller.stub.Produce(
        broker_pb2.ProduceRequest(acks=acks, timeout_ms=1000, partitions=[one]), timeout=10
    )
    produced: broker_pb2.ProducedPartition = answer.partitions[0]
    return produced


def fetch(controller: FakeController, topic: str, offset: int = 0, wait_ms: int = 0) -> broker_pb2.FetchedPartition:
    one = broker_pb2.FetchPartition(topic=topic, partition=0, fetch_offset=offset, current_leader_epoch=-1)
    answer = controller.stub.Fetch(
        broker_pb2.FetchRequest(max_wait_ms=wait_ms, min_bytes=1, partitions=[one]), timeout=30
    )
    fetched: broker_pb2.FetchedPartition = answer.partitions[0]
    return fetched


def test_what_is_produced_is_fetched(controller: FakeController, topic: str) -> None:
    controller.create(topic)
    sent = bytes(plain(b"x" * 50_000, count=3))
    produced = [produce(controller, topic, sent) for _ in range(2)]
    assert [(one.result.error_code, one.base_offset, one.log_start_offset) for one in produced] == [
        (0, 0, 0),
        (0, 3, 0),
    ]
    got = fetch(controller, topic)
    assert (got.result.error_code, got.high_watermark, got.last_stable_offset) == (0, 6, 6)
    assert [header.base_offset for _, header in whole_batches(got.records)] == [0, 3]
    assert got.records[16 : len(sent)] == sent[16:]


def test_refusals_have_kafkas_codes(controller: FakeController, topic: str) -> None:
    controller.create(topic)
    refused = produce(controller, topic, batch(Record(None, b"v", 0), crc=1))
    assert (refused.result.error_code, refused.base_offset) == (KafkaCode.CORRUPT_MESSAGE, -1)
    assert refused.result.error_message
    assert produce(controller, "missing", bytes(plain())).result.error_code == KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
    assert fetch(controller, topic, 5).result.error_code == KafkaCode.OFFSET_OUT_OF_RANGE
    assert produce(controller, topic, bytes(plain()), acks=7).result.error_code == KafkaCode.INVALID_REQUIRED_ACKS


def test_a_fetch_waits_for_a_produce(controller: FakeController, topic: str) -> None:
    controller.create(topic)
    got: list[broker_pb2.FetchedPartition] = []
    waiting = threading.Thread(target=lambda: got.append(fetch(controller, topic, wait_ms=20_000)))
    waiting.start()
    time.sleep(0.3)
    assert not got
    produce(controller, topic, bytes(plain()))
    waiting.join(10)
    assert got[0].records


def test_a_write_that_is_not_committed_in_time(controller: FakeController, topic: str) -> None:
    controller.create(topic, replicas=[1, 7], isr=[1, 7])
    assert produce(controller, topic, bytes(plain())).result.error_code == KafkaCode.REQUEST_TIMED_OUT


def test_offsets_are_listed(controller: FakeController, topic: str) -> None:
    controller.create(topic, configs={"retention.ms": "-1"})
    produce(controller, topic, batch(Record(None, b"a", 1000), Record(None, b"b", 2000)))
    asked = [
        broker_pb2.ListOffsetsPartition(topic=name, partition=0, current_leader_epoch=-1, timestamp_ms=time_ms)
        for name, time_ms in ((topic, -1), (topic, -2), (topic, 1500), ("missing", -1))
    ]
    answer = controller.stub.ListOffsets(broker_pb2.ListOffsetsRequest(partitions=asked), timeout=10)
    got = [(one.result.error_code, one.offset, one.timestamp_ms) for one in answer.partitions]
    assert got == [(0, 2, -1), (0, 0, -1), (0, 1, 2000), (KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)]
