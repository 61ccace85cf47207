"""Many records at once: what is said to be well-formed must be so for the strict reader, whatever a producer sends."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.kafka.errors import KafkaError
from tidelog.kafka.records.alike import RECORDS_MIN, are_well_formed
from tidelog.kafka.records.header import HEADER_SIZE, read_header
from tidelog.kafka.records.record import Record, encode_batch, walk_records

MANY = 3 * RECORDS_MIN


def records_of(deltas: list[int], value: bytes = b"v" * 100, key: bytes | None = None) -> bytes:
    return bytes(encode_batch([Record(key, value, 1000 + delta) for delta in deltas])[HEADER_SIZE:])


def strictly(records: bytes, count: int) -> int | None:
    """The largest timestamp delta, by the reader that decides; None if it refuses."""
    header = read_header(encode_batch([Record()]))._replace(records_count=count, base_timestamp=0)
    try:
        return max(record.timestamp for record in walk_records(header, records))
    except KafkaError:
        return None


@pytest.mark.parametrize("key", [None, b"", b"key"])
@pytest.mark.parametrize("value", [b"", b"v", b"v" * 1024, b"v" * 70_000])
@pytest.mark.parametrize("count", [RECORDS_MIN, 1000])
def test_records_of_one_size_are_seen_to_be_well_formed(count: int, value: bytes, key: bytes | None) -> None:
    assert are_well_formed(records_of([0] * count, value, key), count, 0)


@pytest.mark.parametrize("spread", [1, 60, 63, 64, 200, 8191])
def test_timestamps_that_grow(spread: int) -> None:
    deltas = [n * spread // (9000 - 1) for n in range(9000)]
    records = records_of(deltas)
    assert are_well_formed(records, 9000, spread)
    assert not are_well_formed(records, 9000, spread - 1)
    assert not are_well_formed(records, 9000, spread + 1)


def test_what_is_not_alike_is_not_judged() -> None:
    choose = random.Random(1)
    records = b"".join(records_of([0], bytes(choose.randrange(10, 90))) for _ in range(MANY))
    assert strictly(records, MANY) is not None
    assert not are_well_formed(records, MANY, 0)


def test_records_with_headers_are_not_judged() -> None:
    batch = encode_batch([Record(None, b"v", 1000, [(b"k", b"v")])] * MANY)
    assert not are_well_formed(bytes(batch[HEADER_SIZE:]), MANY, 0)


@pytest.mark.parametrize("wrong", [MANY - 1, MANY + 1])
def test_a_wrong_count(wrong: int) -> None:
    assert not are_well_formed(records_of([0] * MANY), wrong, 0)


@pytest.mark.parametrize("tail", [b"", b"\0", b"zz"])
def test_bytes_after_the_last_record(tail: bytes) -> None:
    assert are_well_formed(records_of([0] * MANY) + tail, MANY, 0) == (tail == b"")


# Where a field may begin to be another one: sizes, signs, and the bit that says that a number goes on.
TELLING_BYTES = (0, 1, 2, 3, 4, 0x10, 0x3F, 0x40, 0x7E, 0x7F, 0x80, 0x81, 0x82, 0xFE, 0xFF)
SHAPES = {
    "small deltas": ([0] * MANY, None),
    "large deltas": ([0] * 64 + [5000] * (MANY - 64), None),
    "with keys": ([n // 30 for n in range(MANY)], b"key"),
}


@pytest.mark.parametrize(("deltas", "key"), SHAPES.values(), ids=SHAPES)
def test_whatever_byte_is_changed_the_strict_reader_agrees(deltas: list[int], key: bytes | None) -> None:
    """One byte of the fields around the value, in the first and last records of runs and in the midst of one."""
    right = records_of(deltas, b"v" * 70, key)
    assert are_well_formed(right, MANY, max(deltas))
    starts = [*record_starts(right, MANY), len(right)]
    places = [within(starts, n, at) for n in (0, 1, 63, 64, 200, MANY - 1) for at in (*range(14), -1, -2)]
    for at in places:
        for byte in TELLING_BYTES:
            changed = bytearray(right)
            changed[at] = byte
            if are_well_formed(bytes(changed), MANY, max(deltas)):
                assert strictly(bytes(changed), MANY) == max(deltas)


def within(starts: list[int], number: int, distance: int) -> int:
    """A place in one record, counted from its start or from its end."""
    return starts[number + (distance < 0)] + distance


@given(
    deltas=st.lists(st.integers(-100, 300) | st.just(0) | st.integers(0, 20_000), min_size=1, max_size=4),
    count=st.integers(RECORDS_MIN, 400),
    value=st.integers(0, 80),
    key=st.none() | st.integers(0, 70),
    changes=st.lists(st.tuples(st.integers(0, 399), st.integers(0, 12), st.integers(0, 255)), max_size=3),
    from_end=st.booleans(),
    asked=st.integers(-10, 10),
)
def test_it_never_says_more_than_the_strict_reader(
    deltas: list[int],
    count: int,
    value: int,
    key: int | None,
    changes: list[tuple[int, int, int]],
    from_end: bool,
    asked: int,
) -> None:
    """Bytes are changed within a few of where records start or end, which is where the fields lie."""
    each = [deltas[n * len(deltas) // count] for n in range(count)]
    whole = bytearray(records_of(each, bytes(value), None if key is None else bytes(key)))
    starts = record_starts(bytes(whole), count)
    for record, distance, byte in changes:
        at = starts[record % count] + (-distance if from_end else distance)
        whole[at % len(whole)] = byte
    # The deltas count from the first timestamp.
    largest = max(each) - each[0] + (asked if changes or asked > 5 else 0)
    if are_well_formed(bytes(whole), count, largest):
        assert strictly(bytes(whole), count) == largest


def record_starts(records: bytes, count: int) -> list[int]:
    header = read_header(encode_batch([Record()]))._replace(records_count=count)
    return [record.start for record in walk_records(header, records)]
