"""The bytes of __transaction_state."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.transaction_coordinator import tp
from tidelog.group_coordinator.core.transactions.metadata import TransactionMetadata
from tidelog.group_coordinator.core.transactions.state_records import (
    MalformedRecord,
    decode_key,
    decode_value,
    state_record,
    tombstone,
)
from tidelog.group_coordinator.core.transactions.states import TransactionState
from tidelog.kafka.types import ProducerEpoch, ProducerId

PARTITIONS = st.frozensets(st.builds(tp, st.sampled_from(["a", "b.c", "x" * 249]), st.integers(0, 2**31 - 1)))


@st.composite
def metadata(draw: st.DrawFn) -> TransactionMetadata:
    state = draw(st.sampled_from(TransactionState))
    partitions = frozenset() if state is TransactionState.EMPTY else draw(PARTITIONS)
    return TransactionMetadata(
        ProducerId(draw(st.integers(0, 2**63 - 1))),
        ProducerEpoch(draw(st.integers(0, 32767))),
        draw(st.integers(1, 2**31 - 1)),
        state,
        partitions,
        draw(st.integers(0, 2**62)),
        draw(st.integers(-1, 2**62)),
    )


def example(state: TransactionState, *partitions: tuple[str, int]) -> TransactionMetadata:
    return TransactionMetadata(
        ProducerId(5000), ProducerEpoch(3), 60_000, state, frozenset(tp(*each) for each in partitions), 77, 66
    )


def test_key_is_the_version_and_the_id() -> None:
    assert tombstone("pay").key == bytes([0, 0, 0, 3]) + b"pay"
    assert tombstone("pay").value is None


def test_empty_state_has_null_partitions() -> None:
    value = state_record("pay", example(TransactionState.EMPTY)).value
    assert value == struct.pack(">hqhibiqq", 0, 5000, 3, 60_000, 0, -1, 77, 66)


def test_completed_state_has_no_partitions() -> None:
    value = state_record("pay", example(TransactionState.COMPLETE_COMMIT)).value
    assert value == struct.pack(">hqhibiqq", 0, 5000, 3, 60_000, 4, 0, 77, 66)


def test_partitions_are_grouped_by_topic_and_in_order() -> None:
    value = state_record("pay", example(TransactionState.ONGOING, ("b", 9), ("a", 4), ("b", 1))).value
    head, tail = struct.pack(">hqhibi", 0, 5000, 3, 60_000, 1, 2), struct.pack(">qq", 77, 66)
    assert value == head + struct.pack(">h1sii", 1, b"a", 1, 4) + struct.pack(">h1siii", 1, b"b", 2, 1, 9) + tail


@given(name=st.text(min_size=1, max_size=50).filter(lambda text: text.isprintable()), metadata=metadata())
def test_what_is_written_is_read(name: str, metadata: TransactionMetadata) -> None:
    record = state_record(name, metadata)
    assert record.value is not None
    assert (decode_key(record.key), decode_value(record.value)) == (name, metadata)


@given(metadata=metadata(), data=st.data())
def test_value_cut_short_is_malformed(metadata: TransactionMetadata, data: st.DataObject) -> None:
    value = state_record("pay", metadata).value
    assert value is not None
    with pytest.raises(MalformedRecord):
        decode_value(value[: data.draw(st.integers(0, len(value) - 1))])


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for decode in (decode_key, decode_value):
        with suppress(MalformedRecord):
            decode(data)


@pytest.mark.parametrize(
    "value",
    [
        struct.pack(">hqhibiqq", 1, 5000, 3, 60_000, 0, -1, 77, 66),
        struct.pack(">hqhibiqq", 0, 5000, 3, 60_000, 9, -1, 77, 66),
    ],
    ids=["version", "state"],
)
def test_unknown_version_or_state_is_malformed(value: bytes) -> None:
    with pytest.raises(MalformedRecord):
        decode_value(value)


def test_key_of_another_version_is_nobodys() -> None:
    assert decode_key(bytes([0, 1, 0, 1]) + b"x") is None


def test_key_that_announces_more_than_it_has_is_malformed() -> None:
    with pytest.raises(MalformedRecord):
        decode_key(bytes([0, 0, 0, 4]) + b"pay")
