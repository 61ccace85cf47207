"""Cleaning a log in a test: without threads, without waiting, and with the records before and after."""

from typing import TYPE_CHECKING

from tests.support.batches import batch
from tests.support.logs import NOW, append, records_of, stored
from tidelog.broker.log.cleaner.counters import CleaningCounts
from tidelog.broker.log.cleaner.dirty import look_at
from tidelog.broker.log.cleaner.offset_map import OffsetMap
from tidelog.broker.log.cleaner.pace import Pace
from tidelog.broker.log.cleaner.round import CleaningRound
from tidelog.broker.log.files import Files
from tidelog.broker.log.flush import flush_now
from tidelog.broker.log.log import Log
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType, encode_marker
from tidelog.kafka.records.header import TRANSACTIONAL, BatchHeader, whole_batches
from tidelog.kafka.records.record import Record, StoredRecord

if TYPE_CHECKING:
    from tidelog.broker.log.cleaner.round import Steps

KeyAndValue = tuple[str | None, str | None]


class ForgetfulFiles(Files):
    """Does not wait for the disk: these tests do not cut the power."""

    sync = staticmethod(lambda _: None)

    def sync_dir(self, path: str) -> None:
        pass


class RestlessPace(Pace):
    """Never sleeps."""

    def step(self, size: int = 0) -> None:
        pass


def put(log: Log, *pairs: KeyAndValue, codec: Codec = Codec.NONE, producer: int = -1, **fields: int) -> int:
    """Append one batch of keys and values (None is a null); gives its first offset."""
    sequence, epoch = fields.get("sequence", -1), 0 if producer >= 0 else -1
    records = [Record(_bytes(key), _bytes(value), NOW + n) for n, (key, value) in enumerate(pairs)]
    attributes = TRANSACTIONAL if fields.get("transactional") else 0
    data = batch(*records, codec=codec, producer=(producer, epoch), sequence=sequence, attributes=attributes)
    return append(log, data).first_offset


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def end_transaction(log: Log, producer: int, kind: MarkerType) -> int:
    marker = encode_marker(EndTransactionMarker(kind, 0), producer_id=producer, producer_epoch=0, timestamp=NOW)
    return log.append_as_leader(marker, 0, NOW, from_coordinator=True).first_offset


def make_cleanable(log: Log) -> None:
    """All of it is committed, on the disk, and in segments that are not written to any more."""
    if log.segments.active.size:
        log.roll(NOW)
    flush_now(log, NOW)
    log.update_high_watermark(log.log_end_offset)


def cleaning(log: Log, now_ms: int = NOW, slots: int = 10_000) -> CleaningRound:
    return CleaningRound(look_at(log, now_ms), OffsetMap(slots * 24, 0.9), RestlessPace(), now_ms)


def do_all(steps: "Steps") -> bool:
    try:
        work = next(steps)
        while True:
            work = steps.send(work())
    except StopIteration as ended:
        return bool(ended.value)


def clean(log: Log, now_ms: int = NOW, slots: int = 10_000) -> CleaningCounts:
    """One whole cleaning of everything that is cleanable now."""
    round_ = cleaning(log, now_ms, slots)
    assert do_all(round_.steps())
    return round_.counts


def clean_all(log: Log, now_ms: int = NOW) -> CleaningCounts:
    make_cleanable(log)
    return clean(log, now_ms)


def pairs_of(log: Log) -> list[tuple[int, str | None, str | None]]:
    """Offset, key and value of all records that are no markers."""
    data, found = stored(log), list[StoredRecord]()
    for at, header in whole_batches(data):
        if not header.is_control:
            found += records_of(data[at : at + header.size])
    return [(record.offset, _text(record.key), _text(record.value)) for record in found]


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def headers_of(log: Log) -> list[BatchHeader]:
    return [header for _, header in whole_batches(stored(log))]
