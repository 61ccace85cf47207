"""What a fetch brought for one partition: record batches as bytes, opened batch by batch as records are taken.

A consumer of committed records leaves out those of aborted transactions. The broker names them: the producer, and the offset
from which on its records belong to the aborted transaction, up to the abort marker in the log. Control records are never
given to anybody. Whatever is left out still moves the position.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from tidelog.client.records import ConsumerRecord, TopicPartition
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.compression import inflate, known_codec
from tidelog.kafka.records.control import MarkerType, read_marker
from tidelog.kafka.records.header import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    HEADER_SIZE,
    INT16,
    MAGIC,
    BatchHeader,
    Buffer,
    checksum,
    read_header,
)
from tidelog.kafka.records.record import walk_records

Deserializer = Callable[[bytes | None], Any]

_LENGTH_AND_MAGIC = 17
_READER_REFUSALS = (RuntimeError, ValueError, AssertionError, IndexError, OverflowError)
_new = tuple.__new__


class FetchedRecords:
    """A cursor over fetched batches. `next_offset` is that of the first record that was not taken."""

    __slots__ = (
        "_aborted",
        "_aborted_producers",
        "_at",
        "_batch_end",
        "_check_crcs",
        "_data",
        "_index",
        "_opened",
        "_partition",
        "_topic",
        "next_offset",
        "size",
    )

    def __init__(
        self,
        partition: TopicPartition,
        data: Buffer,
        fetch_offset: int,
        *,
        aborted: Iterable[tuple[int, int]] | None = None,
        check_crcs: bool = True,
    ) -> None:
        self._topic, self._partition = partition
        self._data = memoryview(data)
        self.size = len(data)
        self.next_offset = fetch_offset
        self._check_crcs = check_crcs
        # None for who reads everything; else (first offset, producer id) of aborted transactions, the next one last.
        self._aborted = None if aborted is None else sorted(aborted, reverse=True)
        self._aborted_producers: set[int] = set()
        self._at = 0
        self._opened: list[ConsumerRecord] = []
        self._index = 0
        self._batch_end = fetch_offset

    def take(self, most: int) -> list[ConsumerRecord]:
        """The next records, no more than so many; none if all were taken. Raises KafkaError if they are damaged."""
        taken: list[ConsumerRecord] = []
        while most > 0 and (self._index < len(self._opened) or self._open_next()):
            left = len(self._opened) - self._index
            if left > most:
                part = self._opened[self._index : self._index + most]
                self._index += most
                self.next_offset = part[-1].offset + 1
            else:
                part = self._opened[self._index :] if self._index else self._opened
                self._opened, self._index = [], 0
                # Compaction may have removed records between the last one and the end of its batch.
                self.next_offset = self._batch_end
            most -= len(part)
            taken += part
        return taken

    def next(self) -> ConsumerRecord | None:
        """The next record alone; as `take`, for who goes from record to record."""
        index = self._index
        if index >= len(self._opened):
            if not self._open_next():
                return None
            index = 0
        record = self._opened[index]
        self._index = index + 1
        self.next_offset = record.offset + 1 if self._index < len(self._opened) else self._batch_end
        return record

    def release(self) -> object:
        """All was taken, and nobody looks into the data any more: give back what it lies in."""
        self._opened = []
        return self._data.obj

    def _open_next(self) -> bool:
        """Open batches until one has a record to give; False at the end of the data."""
        while (header := self._next_header()) is not None:
            start, self._at = self._at, self._at + header.size
            batch = self._data[start : self._at]
            if self._check_crcs and checksum(batch) != header.crc:
                raise KafkaError(
                    KafkaCode.CORRUPT_MESSAGE,
                    f"{self._topic}-{self._partition}: the batch at offset {header.base_offset} has a wrong checksum",
                )
            opened = [] if self._is_left_out(batch, header) else self._records(batch, header)
            if opened:
                self._opened, self._index = opened, 0
                self._batch_end = header.next_offset
                return True
            self.next_offset = max(self.next_offset, header.next_offset)
        return False

    def _next_header(self) -> BatchHeader | None:
        """The header of the next batch; None if there is none, or only the beginning of one."""
        left = len(self._data) - self._at
        if left < _LENGTH_AND_MAGIC:
            return None
        if self._data[self._at + 16] != MAGIC:
            raise KafkaError(
                KafkaCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
                f"{self._topic}-{self._partition}: records of message format {self._data[self._at + 16]} are not read",
            )
        if left < HEADER_SIZE:
            return None
        header = read_header(self._data, self._at)
        return header if header.size <= left else None

    def _is_left_out(self, batch: memoryview, header: BatchHeader) -> bool:
        if header.next_offset <= self.next_offset:
            return True
        if self._aborted is not None and header.has_producer_id and self._is_aborted(batch, header):
            return True
        return header.is_control

    def _is_aborted(self, batch: memoryview, header: BatchHeader) -> bool:
        assert self._aborted is not None, "asked only by who reads committed records"
        while self._aborted and self._aborted[-1][0] <= header.last_offset:
            self._aborted_producers.add(self._aborted.pop()[1])
        if header.is_control:
            marker = read_marker(batch)
            if marker is not None and marker.marker_type is MarkerType.ABORT:
                self._aborted_producers.discard(header.producer_id)
            return True
        return header.is_transactional and header.producer_id in self._aborted_producers

    def _records(self, batch: memoryview, header: BatchHeader) -> list[ConsumerRecord]:
        topic, partition, kind = self._topic, self._partition, header.timestamp_type
        epoch = header.partition_leader_epoch
        opened: Buffer = batch if not header.codec else _inflated(batch, header)
        try:
            records = [
                _new(
                    ConsumerRecord,
                    (topic, partition, r.offset, r.timestamp, kind, r.key, r.value, r.headers or (), epoch),
                )
                for r in _compiled_reader()(opened)
            ]
        except _READER_REFUSALS:
            records = self._records_strictly(opened)
        if header.base_offset < self.next_offset:
            # The offset lies in the middle of the batch.
            return [record for record in records if record.offset >= self.next_offset]
        return records

    def _records_strictly(self, opened: Buffer) -> list[ConsumerRecord]:
        """For what the compiled reader refuses: header keys that are not UTF-8. Raises KafkaError for the rest."""
        header = read_header(opened)
        return [
            ConsumerRecord(
                self._topic,
                self._partition,
                each.offset,
                each.timestamp,
                header.timestamp_type,
                each.key,
                each.value,
                [(key.decode("utf-8", "replace"), value) for key, value in each.headers],
                header.partition_leader_epoch,
            )
            for each in walk_records(header, memoryview(opened)[HEADER_SIZE:])
        ]


def deserialized(
    records: Sequence[ConsumerRecord], key: Deserializer | None, value: Deserializer | None
) -> list[ConsumerRecord]:
    """The same records with keys and values as the application wants them."""
    return [
        record._replace(
            key=record.key if key is None else key(record.key),
            value=record.value if value is None else value(record.value),
        )
        for record in records
    ]


def _inflated(batch: memoryview, header: BatchHeader) -> bytearray:
    opened = inflate(batch[HEADER_SIZE:], known_codec(header.codec), room_before=HEADER_SIZE)
    opened[:HEADER_SIZE] = batch[:HEADER_SIZE]
    INT16.pack_into(opened, ATTRIBUTES_AT, header.attributes & ~CODEC_MASK)
    return opened


def prepare() -> None:
    """Load the compiled reader now, so that the first records do not wait for it."""
    _compiled_reader()


@cache
def _compiled_reader() -> Callable[[Buffer], Any]:
    from aiokafka.record.default_records import DefaultRecordBatch

    reader: Callable[[Buffer], Any] = DefaultRecordBatch
    return reader
