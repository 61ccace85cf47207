"""What a leader refuses, and what it changes in a batch that it takes."""

import os
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.batches import batch, sized
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.compression import Codec, deflate
from tidelog.kafka.records.header import (
    CONTROL,
    CRC_AT,
    DELETE_HORIZON,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    Buffer,
    TimestampType,
    checksum,
    read_header,
)
from tidelog.kafka.records.produced import ProducedBatch, ProduceRules, check_produced, codec_of_topic
from tidelog.kafka.records.record import Record, encode_record, read_records
from tidelog.kafka.records.survey import InvalidRecordsError
from tidelog.kafka.records.varint import encode_varint

NOW = 1_700_000_000_000
HOUR = 3_600_000
V = Record(value=b"v", timestamp=NOW)
COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]


def take(data: Buffer, **rules: Any) -> ProducedBatch:
    return check_produced(data, ProduceRules(**rules), NOW)


def refusal(data: Buffer, **rules: Any) -> KafkaError:
    before = bytes(data)
    with pytest.raises(KafkaError) as caught:
        take(data, **rules)
    assert bytes(data) == before, "a refused batch is left as it was"
    return caught.value


def one(body: bytes) -> bytes:
    return encode_varint(len(body)) + body


BAD = {
    "no batch": (b"", KafkaCode.INVALID_RECORD),
    "a few bytes": (bytes(16), KafkaCode.INVALID_RECORD),
    "two batches": (batch(V) + batch(V), KafkaCode.INVALID_RECORD),
    "batch cut short": (batch(V)[:-3], KafkaCode.INVALID_RECORD),
    "header cut short": (batch(V)[:40], KafkaCode.INVALID_RECORD),
    "length below the smallest": (batch(V, length=10), KafkaCode.CORRUPT_MESSAGE),
    "length negative": (batch(V, length=-1), KafkaCode.CORRUPT_MESSAGE),
    "length without room for records": (batch(V, length=49), KafkaCode.CORRUPT_MESSAGE),
    "magic 0": (batch(V, magic=0), KafkaCode.INVALID_RECORD),
    "magic 1": (batch(V, magic=1), KafkaCode.INVALID_RECORD),
    "magic 3": (batch(V, magic=3), KafkaCode.CORRUPT_MESSAGE),
    "wrong checksum": (batch(V, crc=1), KafkaCode.CORRUPT_MESSAGE),
    "base offset 5": (batch(V, base_offset=5), KafkaCode.INVALID_RECORD),
    "control batch": (batch(Record(b"\0\0\0\1", b"\0" * 6), attributes=CONTROL), KafkaCode.INVALID_RECORD),
    "delete horizon": (batch(V, attributes=DELETE_HORIZON), KafkaCode.INVALID_RECORD),
    "count 0": (batch(payload=b"", last_offset_delta=0), KafkaCode.INVALID_RECORD),
    "count 0, last delta -1": (batch(), KafkaCode.INVALID_RECORD),
    "count -1": (batch(V, count=-1), KafkaCode.INVALID_RECORD),
    "count above last delta": (batch(V, count=2), KafkaCode.INVALID_RECORD),
    "last delta above count": (batch(V, last_offset_delta=3), KafkaCode.INVALID_RECORD),
    "more announced than there are": (batch(V, count=2, last_offset_delta=1), KafkaCode.INVALID_RECORD),
    "fewer announced than there are": (batch(V, V, count=1, last_offset_delta=0), KafkaCode.INVALID_RECORD),
    "producer id without sequence": (batch(V, producer=(1, 0)), KafkaCode.INVALID_RECORD),
    "record longer than the batch": (batch(V, payload=encode_varint(100) + b"abc"), KafkaCode.INVALID_RECORD),
    "record of negative length": (batch(V, payload=encode_varint(-5) + b"abc"), KafkaCode.INVALID_RECORD),
    "record longer than its content": (
        batch(V, payload=one(b"\0\0\0" + sized(None) + sized(b"v") + encode_varint(0) + b"x" * 5)),
        KafkaCode.INVALID_RECORD,
    ),
    "key longer than the record": (
        batch(V, payload=one(b"\0\0\0" + encode_varint(100) + sized(b"v") + encode_varint(0))),
        KafkaCode.INVALID_RECORD,
    ),
    "value longer than the record": (
        batch(V, payload=one(b"\0\0\0" + sized(b"v") + encode_varint(100) + encode_varint(0))),
        KafkaCode.INVALID_RECORD,
    ),
    "header key null": (
        batch(V, payload=one(b"\0\0\0" + sized(b"v") * 2 + encode_varint(1) + encode_varint(-1) + encode_varint(-1))),
        KafkaCode.INVALID_RECORD,
    ),
    "header count negative": (
        batch(V, payload=one(b"\0\0\0" + sized(b"v") * 2 + encode_varint(-1))),
        KafkaCode.INVALID_RECORD,
    ),
    "header count too large": (
        batch(V, payload=one(b"\0\0\0" + sized(b"v") * 2 + encode_varint(1000))),
        KafkaCode.INVALID_RECORD,
    ),
    "bytes after the last record": (batch(V, payload=encode_record(V, 0, 0) + b"zz"), KafkaCode.INVALID_RECORD),
    "codec 5": (batch(V, attributes=5), KafkaCode.CORRUPT_MESSAGE),
}


@pytest.mark.parametrize(("data", "code"), BAD.values(), ids=BAD)
def test_a_bad_batch_is_refused_and_left_alone(data: bytes, code: KafkaCode) -> None:
    assert refusal(bytearray(data)).code is code


def test_a_good_batch_is_taken_as_it_is() -> None:
    data = bytearray(batch(V, Record(b"k", None, NOW + 5, [(b"h", b"x"), (b"h", None)])))
    before = bytes(data)
    taken = take(data)
    assert bytes(taken.data) == before
    assert taken.header == read_header(before)
    assert taken.log_append_time_ms == -1
    assert taken.data.obj is data, "without a copy"


def test_a_batch_that_cannot_be_written_to_is_copied() -> None:
    taken = take(bytes(batch(V)))
    taken.data[0] = 1


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_wrong_count_inside_a_compressed_batch(codec: Codec) -> None:
    assert refusal(batch(V, codec=codec, count=2, last_offset_delta=1)).code is KafkaCode.INVALID_RECORD
    assert refusal(batch(V, V, codec=codec, count=1, last_offset_delta=0)).code is KafkaCode.INVALID_RECORD


@pytest.mark.parametrize("codec", COMPRESSED)
def test_compressed_data_that_cannot_be_read(codec: Codec) -> None:
    whole = deflate(encode_record(Record(None, os.urandom(1000)), 0, 0), codec)
    for payload in (b"\xfe" * 200, whole[: len(whole) // 2], b""):
        error = refusal(batch(V, codec=codec, payload=payload))
        assert error.code in (KafkaCode.CORRUPT_MESSAGE, KafkaCode.INVALID_RECORD)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_offset_deltas_inside_a_compressed_batch_must_be_consecutive(codec: Codec) -> None:
    payload = deflate(encode_record(V, 0, 0) + encode_record(V, 2, 0), codec)
    error = refusal(batch(V, V, codec=codec, payload=payload))
    assert error.code is KafkaCode.INVALID_RECORD
    assert isinstance(error, InvalidRecordsError)
    assert [e.batch_index for e in error.record_errors] == [1]


def test_zstd_needs_a_version_that_knows_it() -> None:
    data = batch(V, codec=Codec.ZSTD)
    with pytest.raises(KafkaError) as caught:
        check_produced(data, ProduceRules(), NOW, zstd_allowed=False)
    assert caught.value.code is KafkaCode.UNSUPPORTED_COMPRESSION_TYPE


def test_the_limit_counts_the_whole_stored_batch() -> None:
    data = batch(Record(None, bytes(1000), NOW), codec=Codec.GZIP)
    take(data, max_message_bytes=len(data))
    assert refusal(data, max_message_bytes=len(data) - 1).code is KafkaCode.MESSAGE_TOO_LARGE


def test_fifty_million_zeros_are_taken_and_a_larger_bomb_is_not() -> None:
    small = deflate(encode_record(Record(None, bytes(50_000_000)), 0, 0), Codec.GZIP)
    take(batch(V, codec=Codec.GZIP, payload=small))
    bomb = deflate(encode_record(Record(None, bytes(140_000_000)), 0, 0), Codec.ZSTD)
    assert len(bomb) < 100_000
    assert refusal(batch(V, codec=Codec.ZSTD, payload=bomb)).code is KafkaCode.CORRUPT_MESSAGE


def test_a_header_key_need_not_be_utf_8() -> None:
    data = batch(Record(b"k", b"v", NOW, [(b"\xff\xfe", b"x")]), Record(b"k", b"v", NOW + 7))
    assert take(data).header.max_timestamp == NOW + 7
    assert take(data, keys_required=True).header.max_timestamp == NOW + 7


@pytest.mark.parametrize("codec", Codec)
def test_records_of_a_compacted_topic_must_have_keys(codec: Codec) -> None:
    data = batch(Record(b"k", b"v"), V, Record(b"", b"v"), V, codec=codec)
    error = refusal(data, keys_required=True)
    assert isinstance(error, InvalidRecordsError)
    assert error.code is KafkaCode.INVALID_RECORD
    assert [e.batch_index for e in error.record_errors] == [1, 3]
    take(batch(Record(b"k", b"v"), Record(b"k", None), Record(b"", b"v"), codec=codec), keys_required=True)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_timestamps_outside_the_window_are_refused_with_their_indexes(codec: Codec) -> None:
    times = [NOW, NOW - HOUR, NOW - 1000, NOW + HOUR, -1]
    data = batch(*[Record(None, b"x", t) for t in times], codec=codec)
    error = refusal(data, timestamp_before_max_ms=60_000, timestamp_after_max_ms=60_000)
    assert isinstance(error, InvalidRecordsError)
    assert error.code is KafkaCode.INVALID_TIMESTAMP
    assert [e.batch_index for e in error.record_errors] == [1, 3]
    take(data, timestamp_before_max_ms=2 * HOUR)
    take(data, timestamp_after_max_ms=2 * HOUR)
    assert refusal(data, timestamp_before_max_ms=60_000).code is KafkaCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_wrong_max_timestamp_is_corrected(codec: Codec) -> None:
    taken = take(batch(Record(None, b"a", 1000), Record(None, b"b", 3000), max_timestamp=5, codec=codec))
    assert taken.header.max_timestamp == 3000
    assert taken.header.crc == checksum(taken.data) == struct.unpack_from(">I", taken.data, CRC_AT)[0]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_log_append_time_is_put_into_the_header_alone(codec: Codec) -> None:
    sent = batch(Record(None, b"a", 1000), Record(None, b"b", 1001), codec=codec)
    taken = take(sent, timestamp_type=TimestampType.LOG_APPEND_TIME, timestamp_before_max_ms=1)
    assert taken.log_append_time_ms == NOW
    assert taken.header.attributes == LOG_APPEND_TIME | codec
    assert (taken.header.base_timestamp, taken.header.max_timestamp) == (1000, NOW)
    assert taken.header.crc == checksum(taken.data)
    assert [r.timestamp for r in read_records(taken.data)] == [NOW, NOW]
    assert bytes(taken.data[HEADER_SIZE:]) == sent[HEADER_SIZE:]


def test_log_append_time_claimed_by_a_producer() -> None:
    data = batch(Record(None, b"a", 12345), attributes=LOG_APPEND_TIME)
    error = refusal(data, timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert isinstance(error, InvalidRecordsError)
    assert error.code is KafkaCode.INVALID_TIMESTAMP
    assert [e.batch_index for e in error.record_errors] == [0]
    without_time = batch(Record(None, b"a", -1), attributes=LOG_APPEND_TIME)
    assert refusal(without_time).code is KafkaCode.INVALID_TIMESTAMP
    taken = take(data)
    assert taken.header.attributes == 0
    assert [r.timestamp for r in read_records(taken.data)] == [12345]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("wanted", Codec)
def test_the_topics_codec_is_applied(wanted: Codec, codec: Codec) -> None:
    records = [Record(b"k%d" % n, b"v%d" % n * 50, NOW + n, [(b"h", b"%d" % n)]) for n in range(20)]
    sent = batch(*records, codec=codec, producer=(4711, 3), sequence=9)
    taken = take(sent, codec=wanted)
    assert taken.header.codec == wanted
    assert taken.header[6:] == read_header(sent)[6:], "all but length, checksum and attributes is kept"
    assert taken.header.crc == checksum(taken.data)
    read = [(r.key, r.value, r.timestamp, list(r.headers)) for r in read_records(taken.data)]
    assert read == [(r.key, r.value, r.timestamp, list(r.headers)) for r in records]


def test_snappy_without_the_stream_framing_is_read_too() -> None:
    import cramjam

    payload = bytes(cramjam.snappy.compress_raw(encode_record(Record(None, b"bare"), 0, 0)))
    taken = take(batch(V, codec=Codec.SNAPPY, payload=payload))
    assert [r.value for r in read_records(taken.data)] == [b"bare"]


def test_the_names_of_a_topics_codecs() -> None:
    assert [codec_of_topic(name) for name in ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")] == [
        None, Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD,
    ]  # fmt: skip


@given(data=st.binary(max_size=400))
def test_any_bytes_are_refused_with_one_of_two_codes(data: bytes) -> None:
    assert refusal(data).code in (KafkaCode.INVALID_RECORD, KafkaCode.CORRUPT_MESSAGE)


@given(data=st.data())
def test_a_batch_with_changed_records_is_taken_only_if_the_strict_reader_reads_it(data: st.DataObject) -> None:
    records = [
        Record(b"key", b"value" * 3, NOW, [(b"name", b"x")]),
        Record(None, b"v", NOW + 1),
        Record(b"k", None, NOW),
    ]
    raw = bytearray(batch(*records))
    # The compiled reader is known to misread a record's attributes, the byte after its size.
    attributes = {HEADER_SIZE + record.start + 1 for record in read_records(raw)}
    places = st.integers(HEADER_SIZE, len(raw) - 1).filter(lambda at: at not in attributes)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(places)] = data.draw(st.integers(0, 255))
    struct.pack_into(">I", raw, CRC_AT, checksum(raw))
    try:
        read = list(read_records(bytes(raw)))
    except KafkaError:
        assert refusal(raw).code is KafkaCode.INVALID_RECORD
    else:
        assert take(raw).header.max_timestamp == max(r.timestamp for r in read)
