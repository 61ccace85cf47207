"""A `.log` file: a line for each batch, and if asked for one for each record."""

from typing import TYPE_CHECKING

from tidelog.broker.log.dump.java_text import boolean, optional_long
from tidelog.broker.log.dump.offsets_decoder import decode_offsets
from tidelog.broker.log.dump.options import Decoder, DumpError
from tidelog.broker.log.dump.stored_batches import batches_from
from tidelog.broker.log.dump.transactions_decoder import decode_transaction
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.control import MarkerType
from tidelog.kafka.records.header import INT16, INT32, NO_SEQUENCE, TimestampType, advance_sequence
from tidelog.kafka.records.record import read_records

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.log.batch_scan import ScannedBatch
    from tidelog.broker.log.dump.dump_file import DumpFile
    from tidelog.broker.log.dump.options import DumpOptions, Output
    from tidelog.kafka.records.header import BatchHeader
    from tidelog.kafka.records.record import StoredRecord

_TIMESTAMP_NAMES = {TimestampType.CREATE_TIME: "CreateTime", TimestampType.LOG_APPEND_TIME: "LogAppendTime"}


def dump_log(file: "DumpFile", options: "DumpOptions", out: "Output") -> None:
    out.line(f"Log starting offset: {file.base_offset}")
    end, previous = 0, None
    for batch in batches_from(file.files, file.path):
        out.line(_batch_line(batch))
        if options.opens_batches:
            previous = _dump_records(file, batch, previous, options, out)
        end = batch.end
    if end < file.size:
        out.line(f"Found {file.size - end} invalid bytes at the end of {file.name}")


def _batch_line(batch: "ScannedBatch") -> str:
    header = batch.header
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.last_offset} count: {header.records_count}"
        f" baseSequence: {header.base_sequence} lastSequence: {header.last_sequence}"
        f" producerId: {header.producer_id} producerEpoch: {header.producer_epoch}"
        f" partitionLeaderEpoch: {header.partition_leader_epoch} isTransactional: {boolean(header.is_transactional)}"
        f" isControl: {boolean(header.is_control)} deleteHorizonMs: {optional_long(header.delete_horizon_ms)}"
        f" position: {batch.position} {_timestamp_name(header)}: {header.max_timestamp} size: {header.size}"
        f" magic: {header.magic} compresscodec: {_codec_name(header)} crc: {header.crc}"
        f" isvalid: {boolean(batch.is_valid())}"
    )


def _timestamp_name(header: "BatchHeader") -> str:
    return _TIMESTAMP_NAMES[header.timestamp_type]


def _codec_name(header: "BatchHeader") -> str:
    return Codec(header.codec).name.lower() if header.codec in set(Codec) else f"unknown({header.codec})"


def _dump_records(
    file: "DumpFile", batch: "ScannedBatch", previous: int | None, options: "DumpOptions", out: "Output"
) -> int | None:
    """Gives the offset of the last record."""
    try:
        for record in read_records(batch.view):
            if previous is not None and record.offset != previous + 1:
                out.findings.offset_gaps.setdefault(file.full_path, []).append((previous, record.offset))
            previous = record.offset
            out.line(_record_line(record, batch.header, options))
    except KafkaError as fault:
        raise DumpError(
            f"{file.path}: the batch at position {batch.position} cannot be read: {fault.message}."
        ) from None
    return previous


def _record_line(record: "StoredRecord", header: "BatchHeader", options: "DumpOptions") -> str:
    """Without the metadata, and without a key, there is no bar at its beginning, as in Kafka."""
    line = "" if options.skip_record_metadata else "| " + _metadata(record, header)
    if line and header.is_control:
        line += " " + _control(record)
    if options.shows_content and not header.is_control:
        key, value = _decode(options.decoder)(record)
        if key is not None:
            line = f"{line or '|'} key: {key}"
        if value is not None:
            line += f" payload: {value}"
    return line


def _metadata(record: "StoredRecord", header: "BatchHeader") -> str:
    sequence = header.base_sequence
    if sequence != NO_SEQUENCE:
        sequence = advance_sequence(sequence, record.offset - header.base_offset)
    keys = ",".join(key.decode("utf-8", "replace") for key, _ in record.headers)
    return (
        f"offset: {record.offset} {_timestamp_name(header)}: {record.timestamp} keySize: {_size(record.key)}"
        f" valueSize: {_size(record.value)} sequence: {sequence} headerKeys: [{keys}]"
    )


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _control(record: "StoredRecord") -> str:
    """Version and type are the key; of the types a log holds the ends of transactions."""
    key, value = record.key or b"", record.value or b""
    if len(key) < 4 or len(value) < 6:
        raise DumpError(f"The control record at offset {record.offset} cannot be read.")
    (kind,), (epoch,) = INT16.unpack_from(key, 2), INT32.unpack_from(value, 2)
    if kind in set(MarkerType):
        return f"endTxnMarker: {MarkerType(kind).name} coordinatorEpoch: {epoch}"
    return f"controlType: UNKNOWN({kind})"


def _decode(decoder: Decoder) -> "Callable[[StoredRecord], tuple[str | None, str | None]]":
    match decoder:
        case Decoder.OFFSETS:
            return decode_offsets
        case Decoder.TRANSACTION_LOG:
            return decode_transaction
        case Decoder.TEXT:
            return _as_text


def _as_text(record: "StoredRecord") -> tuple[str | None, str | None]:
    key, value = record.key, record.value
    return (
        None if key is None else key.decode("utf-8", "replace"),
        None if value is None else value.decode("utf-8", "replace"),
    )
