"""What a fetch brought: taken in pieces, without what a consumer must not see."""

import pytest

from tidelog.client.core.fetch_response import end_of
from tidelog.client.core.fetched import FetchedRecords, deserialized
from tidelog.client.records import ConsumerRecord, TimestampType, TopicPartition
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType, encode_marker
from tidelog.kafka.records.header import LOG_APPEND_TIME, TRANSACTIONAL
from tidelog.kafka.records.record import Record, encode_batch

P = TopicPartition("t", 3)


def batch(base: int, *values: bytes, codec: Codec = Codec.NONE, attributes: int = 0, producer_id: int = -1) -> bytes:
    records = [Record(b"k", value, 1000 + n, ((b"h", b"1"),)) for n, value in enumerate(values)]
    return bytes(
        encode_batch(
            records, base_offset=base, codec=codec, attributes=attributes, producer_id=producer_id, leader_epoch=4
        )
    )


def marker(base: int, kind: MarkerType, producer_id: int) -> bytes:
    ended = EndTransactionMarker(kind, 0)
    return bytes(encode_marker(ended, producer_id=producer_id, producer_epoch=0, timestamp=1, base_offset=base))


def values(records: list[ConsumerRecord]) -> list[bytes]:
    return [record.value for record in records]


@pytest.mark.parametrize("codec", list(Codec))
def test_a_record_has_everything(codec: Codec) -> None:
    (record,) = FetchedRecords(P, batch(7, b"v", codec=codec), 7).take(10)
    assert record == ("t", 3, 7, 1000, TimestampType.CREATE_TIME, b"k", b"v", [("h", b"1")], 4)


def test_the_time_of_the_broker_counts_where_the_topic_says_so() -> None:
    (record,) = FetchedRecords(P, batch(7, b"v", attributes=LOG_APPEND_TIME), 7).take(1)
    assert (record.timestamp_type, record.timestamp) == (TimestampType.LOG_APPEND_TIME, 1000)


def test_pieces_cross_batches_and_move_the_position() -> None:
    fetched = FetchedRecords(P, batch(0, b"a", b"b", b"c") + batch(3, b"d", b"e"), 0)
    assert (values(fetched.take(2)), fetched.next_offset) == ([b"a", b"b"], 2)
    assert (values(fetched.take(2)), fetched.next_offset) == ([b"c", b"d"], 4)
    assert (values(fetched.take(9)), fetched.next_offset) == ([b"e"], 5)
    assert fetched.take(1) == []


def test_one_by_one_is_the_same() -> None:
    fetched = FetchedRecords(P, batch(0, b"a", b"b") + batch(2, b"c"), 0)
    seen = []
    while (record := fetched.next()) is not None:
        seen.append((record.value, fetched.next_offset))
    assert seen == [(b"a", 1), (b"b", 2), (b"c", 3)]


def test_what_lies_before_the_offset_is_not_given() -> None:
    assert values(FetchedRecords(P, batch(0, b"a", b"b", b"c"), 1).take(9)) == [b"b", b"c"]


def test_many_batches_of_one_record_are_taken_at_once() -> None:
    data = b"".join(batch(offset, b"v") for offset in range(3000))
    assert len(FetchedRecords(P, data, 0).take(5000)) == 3000


def test_the_beginning_of_a_batch_is_left_for_the_next_fetch() -> None:
    data = batch(0, b"a") + batch(1, b"b")[:-5]
    fetched = FetchedRecords(P, data, 0)
    assert values(fetched.take(9)) == [b"a"]
    assert end_of(data)[0] == 1
    assert end_of(data[:30]) == (None, -1)


def test_a_damaged_batch_is_refused_unless_checksums_do_not_matter() -> None:
    damaged = bytearray(batch(0, b"abc"))
    damaged[-1] ^= 1
    with pytest.raises(KafkaError, match="t-3: the batch at offset 0 has a wrong checksum") as caught:
        FetchedRecords(P, bytes(damaged), 0).take(1)
    assert caught.value.code is KafkaCode.CORRUPT_MESSAGE
    assert len(FetchedRecords(P, bytes(damaged), 0, check_crcs=False).take(1)) == 1


def test_old_message_formats_are_refused() -> None:
    old = bytearray(batch(0, b"abc"))
    old[16] = 1
    with pytest.raises(KafkaError, match="message format 1"):
        FetchedRecords(P, bytes(old), 0).take(1)


TRANSACTIONS = (
    batch(0, b"a1", attributes=TRANSACTIONAL, producer_id=1)
    + batch(1, b"b1", attributes=TRANSACTIONAL, producer_id=2)
    + batch(2, b"plain")
    + marker(3, MarkerType.ABORT, 1)
    + batch(4, b"a2", attributes=TRANSACTIONAL, producer_id=1)
    + marker(5, MarkerType.COMMIT, 2)
    + marker(6, MarkerType.COMMIT, 1)
)


def test_aborted_transactions_are_left_out_for_who_reads_committed() -> None:
    fetched = FetchedRecords(P, TRANSACTIONS, 0, aborted=[(0, 1)])
    assert values(fetched.take(9)) == [b"b1", b"plain", b"a2"]
    assert fetched.take(9) == []
    assert fetched.next_offset == 7


def test_everybody_else_sees_all_but_control_records() -> None:
    assert values(FetchedRecords(P, TRANSACTIONS, 0).take(9)) == [b"a1", b"b1", b"plain", b"a2"]


def test_the_position_passes_what_is_left_out() -> None:
    fetched = FetchedRecords(P, marker(0, MarkerType.ABORT, 1), 0, aborted=[])
    assert fetched.take(1) == []
    assert fetched.next_offset == 1


def test_header_keys_that_are_no_text_do_not_stop_a_consumer() -> None:
    data = encode_batch([Record(None, b"v", 1, ((b"\xff", b"1"),))])
    (record,) = FetchedRecords(P, bytes(data), 0).take(1)
    assert record.headers == [("�", b"1")]


def test_deserializers_get_keys_and_values() -> None:
    records = FetchedRecords(P, batch(0, b"12"), 0).take(1)
    (record,) = deserialized(records, None, lambda data: int(data or b"0"))
    assert (record.key, record.value) == (b"k", 12)
