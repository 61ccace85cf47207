"""The `.index` and `.timeindex` files: their entries, and whether the log says the same."""

from typing import TYPE_CHECKING

from tidelog.broker.log.dump.options import DumpError
from tidelog.broker.log.dump.stored_batches import batches_from
from tidelog.broker.log.names import LOG, OFFSET_INDEX
from tidelog.broker.log.offset_index import OFFSET_ENTRY, OffsetIndex
from tidelog.broker.log.time_index import TIME_ENTRY, TimeIndex
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.records.header import NO_TIMESTAMP
from tidelog.kafka.records.record import read_records

if TYPE_CHECKING:
    from collections.abc import Iterator
    from struct import Struct

    from tidelog.broker.log.batch_scan import ScannedBatch
    from tidelog.broker.log.dump.dump_file import DumpFile
    from tidelog.broker.log.dump.options import DumpOptions, Output


def dump_offset_index(file: "DumpFile", options: "DumpOptions", out: "Output") -> None:
    log = _log_of(file)
    index = OffsetIndex(file.files, file.path, file.base_offset, file.size)
    if index.count == 0:
        out.line(f"{file.path} is empty.")
        return
    if options.index_sanity_check:
        _check_sanity(file, OFFSET_ENTRY, index.last.offset)
        out.line(f"{file.path} passed sanity check.")
        return
    for offset, position in _used(index.entries(), offset_field=0):
        last_offset = _batch_at(log, position, options.max_message_size).header.last_offset
        if last_offset != file.base_offset + offset:
            mismatches = out.findings.index_mismatches.setdefault(file.full_path, [])
            mismatches.append((file.base_offset + offset, last_offset))
        if not options.verify_index_only:
            out.line(f"offset: {file.base_offset + offset} position: {position}")


def dump_time_index(file: "DumpFile", options: "DumpOptions", out: "Output") -> None:
    log = _log_of(file)
    index = TimeIndex(file.files, file.path, file.base_offset, file.size)
    if options.index_sanity_check:
        if index.count:
            first = index.entries()[0][0]
            _check_sanity(file, TIME_ENTRY, index.last.offset)
            _check(
                file, index.last.timestamp >= first, f"its last timestamp {index.last.timestamp} is before its first"
            )
        out.line(f"{file.path} passed sanity check.")
        return
    offsets = file.sibling(OFFSET_INDEX)
    offset_index = OffsetIndex(file.files, offsets.path, file.base_offset, offsets.size)
    previous = NO_TIMESTAMP
    for timestamp, relative in _used(index.entries(), offset_field=1):
        offset = file.base_offset + relative
        _compare(file, log, offset_index.lookup(offset).position, (timestamp, offset, previous), out)
        if not options.verify_index_only:
            out.line(f"timestamp: {timestamp} offset: {offset}")
        previous = timestamp


def _log_of(file: "DumpFile") -> "DumpFile":
    log = file.sibling(LOG)
    if not log.exists:
        raise DumpError(f"{file.path} is the index of {log.path}, which does not exist.")
    return log


def _used(entries: list[tuple[int, ...]], offset_field: int) -> "Iterator[tuple[int, int]]":
    """After a crash an index may have zeros behind its entries; the first entry alone may be one."""
    for number, (first, second) in enumerate(entries):
        if number and (first, second)[offset_field] == 0:
            return
        yield first, second


def _batch_at(log: "DumpFile", position: int, size_max: int) -> "ScannedBatch":
    batch = next(batches_from(log.files, log.path, position), None) if position < log.size else None
    if batch is None:
        raise DumpError(f"{log.path} has no batch at position {position}, to which its index points.")
    if batch.header.size > size_max:
        raise DumpError(
            f"{log.path} has a batch of {batch.header.size} bytes at position {position}: "
            f"give --max-message-size {batch.header.size} or more."
        )
    return batch


def _compare(file: "DumpFile", log: "DumpFile", start: int, entry: tuple[int, int, int], out: "Output") -> None:
    """The entry names the last offset of a batch, and the largest timestamp in it."""
    timestamp, offset, previous = entry
    found = next(
        (batch for batch in batches_from(log.files, log.path, start) if batch.header.last_offset >= offset), None
    )
    if found is None or found.header.last_offset != offset:
        last_offset = -1 if found is None else found.header.last_offset
        out.findings.offsets_not_found.setdefault(file.full_path, []).append((offset, last_offset))
        return
    largest = _largest_timestamp(log, found)
    if largest != timestamp:
        out.findings.timestamp_mismatches.setdefault(file.full_path, []).append((timestamp, largest))
    if previous >= timestamp:
        out.findings.timestamps_out_of_order.setdefault(file.full_path, []).append((timestamp, previous))


def _largest_timestamp(log: "DumpFile", batch: "ScannedBatch") -> int:
    try:
        return max((record.timestamp for record in read_records(batch.view)), default=NO_TIMESTAMP)
    except KafkaError as fault:
        raise DumpError(
            f"{log.path}: the batch at position {batch.position} cannot be read: {fault.message}."
        ) from None


def _check_sanity(file: "DumpFile", entry: "Struct", last_offset: int) -> None:
    """What a broker checks when it starts; an index that fails is built anew."""
    _check(file, last_offset >= file.base_offset, f"its last offset {last_offset} is below {file.base_offset}")
    _check(file, file.size % entry.size == 0, f"its {file.size} bytes are no multiple of {entry.size}")


def _check(file: "DumpFile", is_right: bool, what: str) -> None:
    if not is_right:
        raise DumpError(f"{file.path} is a corrupt index: {what}.")
