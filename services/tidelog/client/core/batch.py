"""One batch of records of one partition, from its first record to its acknowledgement.

A batch is open (records are appended), sealed (its bytes are made once, when it is first sent) and done (acknowledged or
failed). What waits for single records registers with the batch and is called when it is done. A batch that a broker finds
too large is split: its parts are sent in its place, and it is done when all of them are.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from tidelog.client.records import Header, RecordMetadata
from tidelog.kafka.records.compression import Codec, deflate
from tidelog.kafka.records.header import (
    ATTRIBUTES_AT,
    HEADER_SIZE,
    INT16,
    INT32,
    LENGTH_AT,
    LENGTH_OVERHEAD,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    seal,
)
from tidelog.kafka.records.record import NO_PRODUCER_EPOCH, read_records

_MAGIC = 2
_PRODUCER_AT = 43
_NO_OFFSET = -1

DoneListener = Callable[["ProducerBatch"], None]


class ProducerBatch:
    """The records of one partition that are sent together."""

    __slots__ = (
        "_builder",
        "_codec",
        "_listeners",
        "_parent",
        "_parts",
        "attempts",
        "base_offset",
        "base_sequence",
        "count",
        "created_ms",
        "data",
        "error",
        "is_done",
        "log_append_time",
        "partition",
        "producer_epoch",
        "producer_id",
        "reserved_bytes",
        "topic",
        "write",
    )

    def __init__(
        self,
        topic: str,
        partition: int,
        *,
        size: int,
        codec: Codec = Codec.NONE,
        is_transactional: bool = False,
        created_ms: int = 0,
        reserved_bytes: int = 0,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.created_ms = created_ms
        self.reserved_bytes = reserved_bytes
        self._codec = codec
        self._builder = _compiled_builder()(_MAGIC, Codec.NONE, is_transactional, NO_PRODUCER_ID, -1, NO_SEQUENCE, size)
        # Called with (index, timestamp, key, value, headers); gives None if the record does not fit. The index is `count`.
        self.write: Callable[[int, int, bytes | None, bytes | None, Sequence[Header]], Any] = self._builder.append
        self.count = 0
        self.data: bytearray | None = None
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.base_sequence = NO_SEQUENCE
        self.attempts = 0
        self.base_offset = _NO_OFFSET
        self.log_append_time = -1
        self.error: BaseException | None = None
        self.is_done = False
        self._listeners: list[DoneListener] | None = None
        self._parts: list[ProducerBatch] | None = None
        self._parent: ProducerBatch | None = None

    def append(self, timestamp: int, key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
        """The index of the record in the batch, or -1 if it does not fit; the first always does."""
        index = self.count
        if self.write(index, timestamp, key, value, headers) is None:
            return -1
        self.count = index + 1
        return index

    # ---- sending

    @property
    def size(self) -> int:
        """Bytes as they are now; compression makes them fewer."""
        return len(self.data) if self.data is not None else int(self._builder.size())

    def stamp(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        """Give it the identity under which the broker recognises it when it comes again."""
        if (producer_id, producer_epoch, base_sequence) == (self.producer_id, self.producer_epoch, self.base_sequence):
            return
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        if self.data is not None:
            self._write_stamp(self.data)
            seal(self.data)

    def sealed(self) -> bytearray:
        """The bytes to send; the same ones every time unless the stamp has changed."""
        if self.data is None:
            self._builder.set_producer_state(self.producer_id, self.producer_epoch, self.base_sequence)
            self.data = _compressed(self._builder.build(), self._codec)
            del self._builder, self.write
        return self.data

    def _write_stamp(self, data: bytearray) -> None:
        data[_PRODUCER_AT : _PRODUCER_AT + 14] = (
            self.producer_id.to_bytes(8, "big", signed=True)
            + self.producer_epoch.to_bytes(2, "big", signed=True)
            + self.base_sequence.to_bytes(4, "big", signed=True)
        )

    def split(self, size: int) -> "list[ProducerBatch]":
        """Smaller batches with the same records in the same order, sharing its sequences."""
        sealed = self.sealed()
        parts: list[ProducerBatch] = []
        for record in read_records(sealed):
            headers = [(key.decode(), value) for key, value in record.headers]
            if not parts or parts[-1].append(record.timestamp, record.key, record.value, headers) < 0:
                parts.append(self._part(size, INT16.unpack_from(sealed, ATTRIBUTES_AT)[0]))
                parts[-1].append(record.timestamp, record.key, record.value, headers)
        self._parts = parts
        return parts

    def _part(self, size: int, attributes: int) -> "ProducerBatch":
        part = ProducerBatch(
            self.topic,
            self.partition,
            size=size,
            codec=self._codec,
            is_transactional=bool(attributes & 0x10),
            created_ms=self.created_ms,
        )
        part.attempts = self.attempts
        part._parent = self
        return part

    # ---- the end

    def complete(self, base_offset: int, log_append_time: int = -1) -> None:
        """The broker has it."""
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self._finish()

    def fail(self, error: BaseException) -> None:
        """It will not be sent, or not again."""
        self.error = error
        self._finish()

    def when_done(self, listener: DoneListener) -> None:
        """Have this called once the batch is done, at once if it is."""
        if self.is_done:
            listener(self)
        elif self._listeners is None:
            self._listeners = [listener]
        else:
            self._listeners.append(listener)

    def result(self, index: int, timestamp: int) -> RecordMetadata:
        """Where the record of this index went; raises why it did not go anywhere."""
        if self._parts is not None:
            return self._result_of_part(index, timestamp)
        if self.error is not None:
            raise self.error
        offset = self.base_offset + index if self.base_offset >= 0 else _NO_OFFSET
        written = timestamp if self.log_append_time < 0 else self.log_append_time
        return RecordMetadata(self.topic, self.partition, offset, written)

    def _result_of_part(self, index: int, timestamp: int) -> RecordMetadata:
        for part in self._parts or ():
            if index < part.count:
                return part.result(index, timestamp)
            index -= part.count
        raise AssertionError("the parts have all records of the batch")

    def _finish(self) -> None:
        assert not self.is_done, "a batch ends once"
        self.is_done = True
        listeners, self._listeners = self._listeners, None
        for listener in listeners or ():
            listener(self)
        if self._parent is not None:
            self._parent.on_part_done()

    def on_part_done(self) -> None:
        """One of its parts is; with the last one it is itself."""
        if all(part.is_done for part in self._parts or ()):
            self._finish()


def _compressed(batch: bytearray, codec: Codec) -> bytearray:
    if codec is Codec.NONE:
        return batch
    payload = deflate(memoryview(batch)[HEADER_SIZE:], codec)
    if len(payload) >= len(batch) - HEADER_SIZE:
        return batch
    batch[HEADER_SIZE:] = payload
    INT16.pack_into(batch, ATTRIBUTES_AT, INT16.unpack_from(batch, ATTRIBUTES_AT)[0] | codec)
    INT32.pack_into(batch, LENGTH_AT, len(batch) - LENGTH_OVERHEAD)
    seal(batch)
    return batch


def prepare() -> None:
    """Load the compiled writer now, so that the first record does not wait for it."""
    _compiled_builder()


@cache
def _compiled_builder() -> Callable[..., Any]:
    from aiokafka.record.default_records import DefaultRecordBatchBuilder

    builder: Callable[..., Any] = DefaultRecordBatchBuilder
    return builder


def largest_record_size(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    """An upper bound on the bytes of a batch that holds this record alone."""
    return int(_compiled_builder().estimate_size_in_bytes(key, value, headers))  # type: ignore[attr-defined]
