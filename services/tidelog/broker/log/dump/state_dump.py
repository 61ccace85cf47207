"""The `.txnindex` and `.snapshot` files: aborted transactions, and the producers of a partition."""

from typing import TYPE_CHECKING

from tidelog.broker.log.dump.java_text import optional_long
from tidelog.broker.log.dump.options import DumpError
from tidelog.broker.log.producer_entry import NO_OFFSET
from tidelog.broker.log.producer_snapshot import CorruptSnapshotError, decode_snapshot
from tidelog.broker.log.txn_index import TXN_ENTRY, decode_aborted

if TYPE_CHECKING:
    from tidelog.broker.log.dump.dump_file import DumpFile
    from tidelog.broker.log.dump.options import DumpOptions, Output
    from tidelog.broker.log.producer_entry import ProducerEntry


def dump_txn_index(file: "DumpFile", _: "DumpOptions", out: "Output") -> None:
    data = file.content()
    whole = len(data) - len(data) % TXN_ENTRY.size
    try:
        entries = decode_aborted(data[:whole])
    except ValueError as fault:
        raise DumpError(f"{file.path} cannot be read: {fault}.") from None
    for txn in entries:
        out.line(
            f"version: 0 producerId: {txn.producer_id} firstOffset: {txn.first_offset} lastOffset: {txn.last_offset}"
            f" lastStableOffset: {txn.last_stable_offset}"
        )


def dump_snapshot(file: "DumpFile", _: "DumpOptions", out: "Output") -> None:
    try:
        entries = decode_snapshot(file.content())
    except CorruptSnapshotError as fault:
        out.problem(f"{file.path} is a corrupt snapshot: {fault}.")
        return
    for entry in entries:
        out.line(_producer_line(entry))


def _producer_line(entry: "ProducerEntry") -> str:
    first_offset = None if entry.txn_first_offset == NO_OFFSET else entry.txn_first_offset
    line = (
        f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch}"
        f" coordinatorEpoch: {entry.coordinator_epoch} currentTxnFirstOffset: {optional_long(first_offset)}"
        f" lastTimestamp: {entry.last_timestamp} "
    )
    for mark in entry.batches[:1]:
        line += (
            f"firstSequence: {mark.first_sequence} lastSequence: {mark.last_sequence} lastOffset: {mark.last_offset}"
            f" offsetDelta: {mark.offset_delta} timestamp: {mark.timestamp}"
        )
    return line
