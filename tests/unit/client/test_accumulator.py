"""Batches, queues and the bound on memory."""

import pytest

from tidelog.client.core.accumulator import Accumulator
from tidelog.client.core.batch import ProducerBatch
from tidelog.client.core.partition_queue import PartitionQueue
from tidelog.client.errors import RecordTooLargeError
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.header import SEQUENCE_MAX, checksum, read_header
from tidelog.kafka.records.record import read_records


def accumulator(memory: int = 100_000, batch_size: int = 1000) -> Accumulator:
    return Accumulator(batch_size=batch_size, memory_bytes=memory, request_size_max=50_000)


def started(accumulating: Accumulator, queue: PartitionQueue, value: bytes = b"v") -> ProducerBatch:
    batch = accumulating.start_batch(queue, 0, None, value, [])
    assert batch is not None
    assert batch.append(1000, None, value, []) == 0
    return batch


def test_records_fill_a_batch_and_the_first_always_fits() -> None:
    batch = ProducerBatch("t", 0, size=200)
    assert batch.append(1, None, b"x" * 500, []) == 0
    assert batch.append(1, None, b"x", []) == -1
    assert batch.count == 1


@pytest.mark.parametrize("codec", list(Codec))
def test_a_sealed_batch_is_what_brokers_expect(codec: Codec) -> None:
    batch = ProducerBatch("t", 0, size=10_000, codec=codec)
    for number in range(20):
        batch.append(1000 + number, b"key", b"value " * 10, [("h", b"1"), ("none", None)])
    batch.stamp(7, 3, 40)
    sealed = batch.sealed()
    header = read_header(sealed)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, 40)
    assert (header.size, header.crc, header.codec) == (len(sealed), checksum(sealed), codec)
    records = list(read_records(sealed))
    assert [record.timestamp for record in records] == list(range(1000, 1020))
    assert records[3].headers == ((b"h", b"1"), (b"none", None))


def test_a_new_stamp_is_written_into_sealed_bytes() -> None:
    batch = ProducerBatch("t", 0, size=1000)
    batch.append(1, None, b"v", [])
    batch.stamp(7, 0, 0)
    batch.sealed()
    batch.stamp(7, 1, 5)
    header = read_header(batch.sealed())
    assert (header.producer_epoch, header.base_sequence, header.crc) == (1, 5, checksum(batch.sealed()))


def test_what_does_not_shrink_is_sent_as_it_is() -> None:
    batch = ProducerBatch("t", 0, size=1000, codec=Codec.GZIP)
    batch.append(1, None, b"", [])
    assert read_header(batch.sealed()).codec == Codec.NONE


def test_results_have_offset_and_time_of_each_record() -> None:
    batch = ProducerBatch("t", 2, size=1000)
    for number in range(3):
        batch.append(10 + number, None, b"v", [])
    batch.complete(100)
    assert batch.result(2, 12) == ("t", 2, 102, 12)
    stamped = ProducerBatch("t", 2, size=1000)
    stamped.append(10, None, b"v", [])
    stamped.complete(100, log_append_time=99)
    assert stamped.result(0, 10).timestamp == 99


def test_a_failed_batch_fails_all_its_records_and_tells_once() -> None:
    batch = ProducerBatch("t", 0, size=1000)
    batch.append(1, None, b"v", [])
    told: list[ProducerBatch] = []
    batch.when_done(told.append)
    batch.fail(KafkaError(KafkaCode.INVALID_RECORD))
    batch.when_done(told.append)
    assert told == [batch, batch]
    with pytest.raises(KafkaError):
        batch.result(0, 1)


def test_a_split_batch_keeps_order_sequences_and_results() -> None:
    queue = PartitionQueue("t", 0, 5)
    batch = queue.open = ProducerBatch("t", 0, size=10_000)
    for number in range(10):
        batch.append(number, None, b"x" * 100, [])
    sent = queue.take()
    queue.number(sent, 7, 0)
    parts = sent.split(sent.size // 2)
    queue.replace(sent, parts)
    assert len(parts) >= 2
    assert [part.base_sequence for part in queue.closed] == [
        0,
        *[sum(p.count for p in parts[:n]) for n in range(1, len(parts))],
    ]
    offset = 50
    for part in parts:
        assert not batch.is_done
        part.complete(offset)
        offset += part.count
    assert batch.is_done
    assert [batch.result(number, number).offset for number in range(10)] == list(range(50, 60))


def test_memory_is_taken_per_batch_and_given_back() -> None:
    accumulating = accumulator(memory=2500)
    queue = accumulating.queue("t", 0)
    first, second = started(accumulating, queue), started(accumulating, queue)
    assert accumulating.start_batch(queue, 0, None, b"v", []) is None
    first.complete(0)
    assert accumulating.free_bytes == 1500
    assert started(accumulating, queue) is not None
    second.fail(KafkaError(KafkaCode.NETWORK_EXCEPTION))
    assert accumulating.free_bytes == 1500


def test_a_record_that_can_never_go_is_refused_with_the_setting() -> None:
    accumulating = Accumulator(batch_size=100, memory_bytes=60_000, request_size_max=50_000)
    with pytest.raises(RecordTooLargeError, match=r"max\.request\.size"):
        accumulating.start_batch(accumulating.queue("t", 0), 0, None, b"x" * 50_001, [])
    accumulating = Accumulator(batch_size=100, memory_bytes=10_000, request_size_max=50_000)
    with pytest.raises(RecordTooLargeError, match=r"buffer\.memory"):
        accumulating.start_batch(accumulating.queue("t", 0), 0, None, b"x" * 20_000, [])


def test_lingering_ends_with_time_or_with_the_next_batch() -> None:
    accumulating = accumulator()
    queue = accumulating.queue("t", 0)
    started(accumulating, queue)
    assert queue.ready_at_ms(linger_ms=100) == 100
    started(accumulating, queue)
    assert queue.ready_at_ms(linger_ms=100) == 0


def test_a_retry_keeps_its_place_before_all_that_is_younger() -> None:
    accumulating = accumulator()
    queue = accumulating.queue("t", 0)
    batches = [started(accumulating, queue) for _ in range(5)]
    sent = [queue.take() for _ in range(4)]
    for batch in sent:
        queue.number(batch, 7, 0)
    # Answers may come in any order when a connection breaks.
    for batch in (sent[2], sent[0], sent[3], sent[1]):
        accumulating.put_back(queue, batch, 0)
    queue.close_open()
    assert list(queue.closed) == batches
    assert [batch.base_sequence for batch in batches] == [0, 1, 2, 3, -1]


def test_order_holds_where_sequences_wrap() -> None:
    queue = PartitionQueue("t", 0, 5)
    queue.next_sequence = SEQUENCE_MAX
    sent = []
    for _ in range(3):
        queue.open = ProducerBatch("t", 0, size=1000)
        queue.open.append(1, None, b"v", [])
        batch = queue.take()
        queue.number(batch, 7, 0)
        sent.append(batch)
    assert [batch.base_sequence for batch in sent] == [SEQUENCE_MAX, 0, 1]
    for batch in reversed(sent):
        queue.put_back(batch, 0)
    assert list(queue.closed) == sent


def test_without_sequences_a_retry_goes_before_what_was_never_sent() -> None:
    accumulating = accumulator()
    queue = accumulating.queue("t", 0)
    first, second = started(accumulating, queue), started(accumulating, queue)
    queue.take()
    accumulating.put_back(queue, first, 0)
    assert queue.head() is first
    assert queue.open is second


def test_expiry_takes_the_oldest_only() -> None:
    accumulating = accumulator()
    queue = accumulating.queue("t", 0)
    old = accumulating.start_batch(queue, 100, None, b"v", [])
    young = accumulating.start_batch(queue, 200, None, b"v", [])
    assert accumulating.expire(150) == [old]
    assert queue.head() is young
    assert accumulating.expire(300) == [young]
    assert not accumulating.waiting
