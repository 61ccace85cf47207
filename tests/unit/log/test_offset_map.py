"""The map of keys to offsets: as a dictionary, within its memory."""

import random

from hypothesis import given
from hypothesis import strategies as st

from tidelog.broker.log.cleaner.offset_map import NOT_MAPPED, SLOT_BYTES, OffsetMap


@given(st.lists(st.tuples(st.one_of(st.none(), st.binary(max_size=3)), st.integers(0, 2**62)), max_size=80))
def test_it_is_a_dictionary(pairs: list[tuple[bytes | None, int]]) -> None:
    offsets = OffsetMap(101 * SLOT_BYTES, 0.9)
    assert offsets.put([key for key, _ in pairs], [offset for _, offset in pairs])
    expected = {key: offset for key, offset in pairs if key is not None}
    assert offsets.size == len(expected)
    assert offsets.offsets_of(expected) == list(expected.values())
    assert offsets.offsets_of([b"another"]) == [NOT_MAPPED]


def test_it_takes_as_many_keys_as_its_load_allows_and_then_updates_only() -> None:
    offsets = OffsetMap(1000 * SLOT_BYTES, 0.9)
    assert offsets.slots == 997
    keys = [b"%d" % n for n in range(offsets.capacity)]
    assert offsets.put(keys, range(len(keys)))
    assert offsets.utilization > 0.89
    assert offsets.put(keys[:1], [5000])
    assert not offsets.put([keys[1], b"one more", keys[2]], [6000, 6001, 6002])
    assert offsets.offsets_of([keys[0], keys[1], b"one more", keys[2]]) == [5000, 6000, NOT_MAPPED, 2]


def test_a_full_table_is_still_searched_to_an_end() -> None:
    offsets = OffsetMap(11 * SLOT_BYTES, 1.0)
    keys = [random.randbytes(4) for _ in range(offsets.capacity)]
    assert offsets.put(keys, range(len(keys)))
    assert offsets.offsets_of([b"absent"]) == [NOT_MAPPED]


def test_forgetting_empties_it() -> None:
    offsets = OffsetMap(5_000_000, 0.9)
    keys = [b"%d" % n for n in range(1000)]
    assert offsets.put(keys, range(1000))
    offsets.forget()
    assert offsets.size == 0
    assert set(offsets.offsets_of(keys)) == {NOT_MAPPED}
