"""Compaction against a model: whatever was written, a reader of committed records ends with the same table."""

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from tests.support.cleaning import ForgetfulFiles, KeyAndValue, clean, end_transaction, make_cleanable, put
from tests.support.logs import NOW, SMALL, LogOnDisk, stored
from tidelog.broker.log.log import Log
from tidelog.broker.log.reading import aborted_transactions
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.control import MarkerType
from tidelog.kafka.records.header import whole_batches
from tidelog.kafka.records.record import StoredRecord, read_records

COMPACTED = replace(SMALL, compact=True, delete=False, delete_retention_ms=1000, segment_bytes=600)
PRODUCERS = (1, 2)

keys = st.sampled_from("abcdefgh")
values = st.one_of(st.none(), st.integers(0, 99).map(str))
some_pairs = st.lists(st.tuples(keys, values), min_size=1, max_size=4)
actions = st.one_of(
    st.tuples(st.just("put"), some_pairs, st.sampled_from(Codec)),
    st.tuples(st.just("idempotent"), some_pairs),
    st.tuples(st.just("transactional"), some_pairs, st.sampled_from(PRODUCERS)),
    st.tuples(st.just("end"), st.sampled_from(PRODUCERS), st.sampled_from(MarkerType)),
    st.tuples(st.just("clean"), st.integers(0, 1500), st.sampled_from((5, 7, 100))),
    st.tuples(st.just("restart"), st.booleans()),
)


class Model:
    """Does what the script says to a log, and remembers what a reader must find."""

    def __init__(self, disk: LogOnDisk) -> None:
        self.disk = disk
        self.log = disk.open()
        self.now_ms = NOW
        self.written: list[tuple[KeyAndValue, int | None]] = []
        self.open_transactions: dict[int, list[int]] = {}
        self.sequences: Counter[int] = Counter()

    def note(self, pairs: list[KeyAndValue], producer: int | None = None) -> None:
        for pair in pairs:
            if producer is not None:
                self.open_transactions.setdefault(producer, []).append(len(self.written))
            self.written.append((pair, producer))

    def put(self, pairs: list[KeyAndValue], codec: Codec) -> None:
        put(self.log, *pairs, codec=codec)
        self.note(pairs)

    def idempotent(self, pairs: list[KeyAndValue]) -> None:
        put(self.log, *pairs, producer=9, sequence=self.sequences[9])
        self.sequences[9] += len(pairs)
        self.note(pairs)

    def transactional(self, pairs: list[KeyAndValue], producer: int) -> None:
        put(self.log, *pairs, producer=producer, sequence=self.sequences[producer], transactional=1)
        self.sequences[producer] += len(pairs)
        self.note(pairs, producer)

    def end(self, producer: int, kind: MarkerType) -> None:
        end_transaction(self.log, producer, kind)
        for at in self.open_transactions.pop(producer, []):
            pair, _ = self.written[at]
            self.written[at] = (pair, None if kind is MarkerType.COMMIT else -1)

    def clean(self, later_ms: int, slots: int) -> None:
        self.now_ms += later_ms
        make_cleanable(self.log)
        clean(self.log, self.now_ms, slots)

    def restart(self, clean_stop: bool) -> None:
        dirty, high_watermark = self.log.first_dirty_offset, self.log.high_watermark
        if clean_stop:
            self.log.close()
        else:
            self.log.close_files()
        self.log = self.disk.open(was_clean=clean_stop, high_watermark=high_watermark)
        self.log.first_dirty_offset = dirty

    @property
    def table(self) -> dict[str, str]:
        """Every committed record in order, less what was deleted."""
        return _table((pair for pair, producer in self.written if producer is None))


def _table(pairs: object) -> dict[str, str]:
    table: dict[str, str] = {}
    for key, value in pairs:  # type: ignore[attr-defined]
        table.pop(key, None)
        if value is not None:
            table[key] = value
    return table


def committed(log: Log, open_producers: set[int]) -> list[StoredRecord]:
    """What a reader of committed records sees, by the list of aborted transactions and their markers."""
    data = stored(log)
    aborted = sorted(aborted_transactions(log, 0, log.log_end_offset), key=lambda txn: txn.first_offset)
    dropped: set[int] = set()
    unfinished = {log.producers.entries[pid].txn_first_offset: pid for pid in open_producers}
    found: list[StoredRecord] = []
    for at, header in whole_batches(data):
        while aborted and aborted[0].first_offset <= header.last_offset:
            dropped.add(aborted.pop(0).producer_id)
        if header.is_control:
            if header.records_count:
                dropped.discard(header.producer_id)
            continue
        is_unfinished = any(pid == header.producer_id and header.base_offset >= o for o, pid in unfinished.items())
        if not (header.is_transactional and header.producer_id in dropped) and not is_unfinished:
            found += read_records(data[at : at + header.size])
    return found


def seen_table(log: Log, open_producers: set[int]) -> dict[str, str]:
    records = committed(log, open_producers)
    return _table(((r.key or b"").decode(), None if r.value is None else r.value.decode()) for r in records)


# A producer whose transaction was aborted and compacted away; its next one is committed, by a marker beyond what is cleaned.
ABORTED_THEN_COMMITTED: list[tuple[Any, ...]] = [
    ("put", [("f", "2")], Codec.NONE),
    ("transactional", [("b", "1")], 2),
    ("end", 2, MarkerType.ABORT),
    ("clean", 0, 100),
    ("transactional", [("f", None)], 2),
    ("clean", 0, 100),
    ("end", 2, MarkerType.COMMIT),
]


@example(ABORTED_THEN_COMMITTED)
@settings(max_examples=150, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(st.lists(actions, min_size=5, max_size=40))
def test_a_reader_ends_with_the_same_table(script: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        model = Model(LogOnDisk(Path(directory) / "t-0", COMPACTED, ForgetfulFiles()))
        for name, *arguments in script:
            getattr(model, name)(*arguments)
            end = model.log.log_end_offset
            assert end == model.log.segments.active.base_offset or model.log.segments.active.size
        model.clean(0, 100)
        open_producers = set(model.open_transactions)
        assert seen_table(model.log, open_producers) == model.table
        _check_each_key_once(model.log, open_producers)
        # Whatever may go goes after the horizon, and not more.
        model.put([("z", "last")], Codec.NONE)
        model.clean(5000, 100)
        model.put([("z", "very last")], Codec.NONE)
        model.clean(5000, 100)
        assert seen_table(model.log, open_producers) == model.table
        _check_each_key_once(model.log, open_producers)


def _check_each_key_once(log: Log, open_producers: set[int]) -> None:
    assert log.first_dirty_offset is not None
    cleaned = [r for r in committed(log, open_producers) if r.offset < log.first_dirty_offset]
    assert max(Counter(r.key for r in cleaned).values(), default=1) == 1
    offsets = [r.offset for r in cleaned]
    assert offsets == sorted(set(offsets))
