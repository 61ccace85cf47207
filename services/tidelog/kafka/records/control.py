"""Control batches: the markers that end a transaction."""

import struct
from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.header import CONTROL, NO_SEQUENCE, TRANSACTIONAL, Buffer, read_header
from tidelog.kafka.records.record import Record, encode_batch, read_records

_KEY = Struct(">hh")
_VALUE = Struct(">hi")
_VERSION = 0


class MarkerType(IntEnum):
    """How the transaction ended. Other control types exist in Kafka and mean nothing to a log."""

    ABORT = 0
    COMMIT = 1


class EndTransactionMarker(NamedTuple):
    """What one marker says."""

    marker_type: MarkerType
    coordinator_epoch: int


def encode_marker(
    marker: EndTransactionMarker, *, producer_id: int, producer_epoch: int, timestamp: int, base_offset: int = 0
) -> bytearray:
    """The control batch of one record that a leader appends when a transaction ends."""
    record = Record(
        key=_KEY.pack(_VERSION, marker.marker_type),
        value=_VALUE.pack(_VERSION, marker.coordinator_epoch),
        timestamp=timestamp,
    )
    return encode_batch(
        [record],
        base_offset=base_offset,
        attributes=CONTROL | TRANSACTIONAL,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=NO_SEQUENCE,
    )


def read_marker(batch: Buffer) -> EndTransactionMarker | None:
    """The marker in a control batch; None for a control record of another type. INVALID_RECORD if it cannot be read.

    There is none either in a batch that compaction has emptied: all records of its transaction were gone before.
    """
    if not read_header(batch).records_count:
        return None
    try:
        record = next(read_records(batch))
        _, control_type = _KEY.unpack_from(record.key or b"")
        if control_type not in (MarkerType.ABORT, MarkerType.COMMIT):
            return None
        _, coordinator_epoch = _VALUE.unpack_from(record.value or b"")
    except (struct.error, StopIteration):
        raise KafkaError(KafkaCode.INVALID_RECORD, "a control record is malformed") from None
    return EndTransactionMarker(MarkerType(control_type), coordinator_epoch)
