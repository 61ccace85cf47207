"""Record batches as Arrow: every column, only wanted columns, only wanted offsets, nothing that was aborted."""

from datetime import UTC, datetime

import pytest

from pyspark_tidelog.arrow import to_arrow
from pyspark_tidelog.batches import open_batches
from pyspark_tidelog.columns import table_schema
from pyspark_tidelog.fetching import portions
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType, encode_marker
from tidelog.kafka.records.header import LOG_APPEND_TIME, TRANSACTIONAL
from tidelog.kafka.records.record import Record, encode_batch

_ALL = tuple(table_schema(include_headers=True).fieldNames())


def batch(
    base_offset: int, *values: bytes, attributes: int = 0, codec: Codec = Codec.NONE, producer: int = -1
) -> bytes:
    records = [Record(b"k", value, 1000 + index, [(b"h", b"x")]) for index, value in enumerate(values)]
    made = encode_batch(
        records,
        base_offset=base_offset,
        codec=codec,
        attributes=attributes,
        producer_id=producer,
        producer_epoch=0 if producer >= 0 else -1,
        base_sequence=0 if producer >= 0 else -1,
    )
    return bytes(made)


def values(data: bytes, start: int = 0, end: int = 1000, aborted: list[tuple[int, int]] | None = None) -> list[bytes]:
    return [each.value for opened in open_batches(data, start, end, aborted) for each in opened.records]


@pytest.mark.parametrize("codec", list(Codec))
def test_every_column_of_every_codec(codec: Codec) -> None:
    data = batch(5, b"a" * 200, b"b" * 200, codec=codec)
    found = to_arrow(list(open_batches(data, 0, 100, None)), "t", 3, _ALL).to_pylist()
    assert found[1] == {
        "key": b"k",
        "value": b"b" * 200,
        "topic": "t",
        "partition": 3,
        "offset": 6,
        "timestamp": datetime(1970, 1, 1, 0, 0, 1, 1000, UTC),
        "timestampType": 0,
        "headers": [{"key": "h", "value": b"x"}],
    }


def test_only_wanted_columns_are_made() -> None:
    found = to_arrow(list(open_batches(batch(0, b"a"), 0, 9, None)), "t", 0, ("offset", "value"))
    assert found.to_pylist() == [{"offset": 0, "value": b"a"}]


def test_batches_of_different_clocks_keep_their_types() -> None:
    data = batch(0, b"a") + batch(1, b"b", attributes=LOG_APPEND_TIME)
    found = to_arrow(list(open_batches(data, 0, 9, None)), "t", 0, ("timestampType",))
    assert found.to_pydict() == {"timestampType": [0, 1]}


def test_offsets_with_holes_are_told_as_they_are() -> None:
    data = batch(0, b"a") + batch(9, b"b")
    assert to_arrow(list(open_batches(data, 0, 99, None)), "t", 0, ("offset",)).to_pydict() == {"offset": [0, 9]}


def test_only_offsets_of_the_range_are_given() -> None:
    data = batch(0, b"a", b"b", b"c") + batch(3, b"d", b"e")
    assert values(data, start=1, end=4) == [b"b", b"c", b"d"]


def test_a_batch_that_is_cut_off_is_left_for_the_next_fetch() -> None:
    data = batch(0, b"a") + batch(1, b"b")
    assert values(data[:-1]) == [b"a"]


def test_aborted_records_are_left_out_for_who_reads_committed_ones() -> None:
    abort = encode_marker(
        EndTransactionMarker(MarkerType.ABORT, 0), producer_id=7, producer_epoch=0, timestamp=0, base_offset=2
    )
    data = (
        batch(0, b"gone", attributes=TRANSACTIONAL, producer=7)
        + batch(1, b"stays", attributes=TRANSACTIONAL, producer=8)
        + bytes(abort)
        + batch(3, b"later", attributes=TRANSACTIONAL, producer=7)
    )
    assert values(data, aborted=[(0, 7)]) == [b"stays", b"later"]
    assert values(data) == [b"gone", b"stays", b"later"]


def test_damage_is_found() -> None:
    data = bytearray(batch(0, b"a"))
    data[-1] ^= 1
    with pytest.raises(KafkaError, match="wrong checksum"):
        values(bytes(data))


def test_batches_are_put_together_until_there_is_enough_for_the_jvm() -> None:
    data = b"".join(batch(number, b"a" * 200_000) for number in range(7))
    found = list(portions(open_batches(data, 1, 100, None)))
    assert [[each.records[0].offset for each in portion] for portion in found] == [[1, 2, 3], [4, 5, 6]]
    assert list(portions(open_batches(data, 50, 100, None))) == []
