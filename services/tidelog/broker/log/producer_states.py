"""The producers of a partition: sequence checks, open transactions, and with them the first unstable offset.

A transaction is *ongoing* from its first record to its marker, and *unreplicated* from then until the high watermark
has passed the marker. A read_committed reader must not see anything from the first offset of either on.
"""

from typing import TYPE_CHECKING, NamedTuple

from tidelog.broker.log.producer_entry import NO_OFFSET, BatchMark, ProducerEntry
from tidelog.broker.log.txn_index import AbortedTxn, TxnIndex
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidelog.broker.log.config import LogConfig
    from tidelog.kafka.records.header import BatchHeader


class CompletedTxn(NamedTuple):
    """A transaction that a marker ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerStates:
    """Everything that is remembered of the producers of one partition, up to the end of its log."""

    def __init__(self) -> None:
        self._entries: dict[int, ProducerEntry] = {}
        # Both are keyed by the first offset of the transaction. Ongoing ones were inserted in the order of these.
        self._ongoing: dict[int, int] = {}
        self._unreplicated: dict[int, int] = {}

    @property
    def entries(self) -> dict[int, ProducerEntry]:
        return self._entries

    @property
    def first_unstable_offset(self) -> int | None:
        first = next(iter(self._ongoing), None)
        if self._unreplicated:
            completed = min(self._unreplicated)
            return completed if first is None else min(first, completed)
        return first

    def has_open_transaction(self, producer_id: int) -> bool:
        entry = self._entries.get(producer_id)
        return entry is not None and entry.txn_first_offset != NO_OFFSET

    def load(self, entries: "Iterable[ProducerEntry]", now_ms: int, config: "LogConfig") -> None:
        """Take the place of all that is known by what a snapshot says; long silent producers are left out."""
        self.clear()
        for entry in entries:
            if not _is_expired(entry, now_ms, config):
                self._entries[entry.producer_id] = entry
        open_ones = [e for e in self._entries.values() if e.txn_first_offset != NO_OFFSET]
        for entry in sorted(open_ones, key=lambda e: e.txn_first_offset):
            self._ongoing[entry.txn_first_offset] = entry.producer_id

    def clear(self) -> None:
        self._entries.clear()
        self._ongoing.clear()
        self._unreplicated.clear()

    def expire(self, now_ms: int, config: "LogConfig") -> None:
        """Forget the producers that were silent for too long, unless they have a transaction open."""
        for entry in list(self._entries.values()):
            if _is_expired(entry, now_ms, config):
                del self._entries[entry.producer_id]

    # Checks of what a leader is about to append

    def check_data(self, header: "BatchHeader", *, check_sequence: bool) -> BatchMark | None:
        """Refuse a batch that does not follow; a batch that was stored already gives the mark of that one."""
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return None
        if check_sequence:
            duplicate = entry.duplicate_of(header)
            if duplicate is not None:
                return duplicate
        entry.check_epoch(header.producer_epoch)
        if check_sequence:
            entry.check_sequence(header)
        entry.check_transaction(header)
        return None

    def check_marker(self, header: "BatchHeader", marker: EndTransactionMarker) -> None:
        entry = self._entries.get(header.producer_id)
        if entry is None:
            return
        entry.check_epoch(header.producer_epoch)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise KafkaError(
                KafkaCode.TRANSACTION_COORDINATOR_FENCED,
                f"Coordinator epoch {marker.coordinator_epoch} is older than {entry.coordinator_epoch}.",
            )

    # What the log holds

    def on_data(self, header: "BatchHeader", base_offset: int) -> None:
        """A batch with a producer id was appended, or is read again after a restart."""
        entry = self._entry(header.producer_id)
        entry.set_epoch(header.producer_epoch)
        delta = header.last_offset_delta
        entry.add(BatchMark(header.last_sequence, base_offset + delta, delta, header.max_timestamp))
        if header.is_transactional and entry.txn_first_offset == NO_OFFSET:
            entry.txn_first_offset = base_offset
            self._ongoing[base_offset] = header.producer_id

    def on_marker(self, header: "BatchHeader", marker: EndTransactionMarker, offset: int) -> CompletedTxn | None:
        """A marker was appended. A transaction without data in this partition gives nothing."""
        entry = self._entry(header.producer_id)
        entry.set_epoch(header.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = header.max_timestamp
        first_offset, entry.txn_first_offset = entry.txn_first_offset, NO_OFFSET
        if first_offset == NO_OFFSET:
            return None
        is_aborted = marker.marker_type is MarkerType.ABORT
        return CompletedTxn(header.producer_id, first_offset, offset, is_aborted)

    def last_stable_offset_after(self, completed: CompletedTxn) -> int:
        """The first offset of another ongoing transaction, else the one after the marker."""
        return next((first for first in self._ongoing if first != completed.first_offset), completed.last_offset + 1)

    def complete(self, completed: CompletedTxn) -> None:
        del self._ongoing[completed.first_offset]
        self._unreplicated[completed.first_offset] = completed.last_offset

    def on_high_watermark(self, high_watermark: int) -> None:
        """Transactions whose marker is below are done with."""
        if self._unreplicated:
            for first in [f for f, last in self._unreplicated.items() if last < high_watermark]:
                del self._unreplicated[first]

    def _entry(self, producer_id: int) -> ProducerEntry:
        entry = self._entries.get(producer_id)
        if entry is None:
            entry = self._entries[producer_id] = ProducerEntry(producer_id)
        return entry


def _is_expired(entry: ProducerEntry, now_ms: int, config: "LogConfig") -> bool:
    return (
        now_ms - entry.last_timestamp > config.producer_id_expiration_ms
        and entry.txn_first_offset == NO_OFFSET
        and entry.producer_id not in config.permanent_producer_ids
    )


def remember_producer(
    producers: ProducerStates,
    header: "BatchHeader",
    marker: EndTransactionMarker | None,
    base_offset: int,
    txn_index: "TxnIndex",
) -> None:
    """Take in a batch that is in the log; an aborted transaction goes into the index of the marker's segment."""
    if not header.is_control:
        producers.on_data(header, base_offset)
        return
    completed = None if marker is None else producers.on_marker(header, marker, base_offset)
    if completed is None:
        return
    if completed.is_aborted:
        stable = producers.last_stable_offset_after(completed)
        txn_index.append(AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, stable))
    producers.complete(completed)
