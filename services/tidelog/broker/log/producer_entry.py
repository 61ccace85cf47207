"""What a partition remembers of one idempotent or transactional producer."""

from typing import NamedTuple

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.header import NO_SEQUENCE, SEQUENCE_MAX, BatchHeader

# As many batches as a producer may have in flight are remembered, so that any of them can be sent again.
BATCHES_REMEMBERED = 5
NO_EPOCH = -1
NO_OFFSET = -1


class BatchMark(NamedTuple):
    """A batch by which a repeated one is recognised, and answered."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        first = self.last_sequence - self.offset_delta
        return first if first >= 0 or self.last_sequence < 0 else first + SEQUENCE_MAX + 1

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerEntry:
    """The newest epoch of a producer, its last batches in it, and the transaction that it has open here."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
        "txn_first_offset",
    )

    def __init__(self, producer_id: int) -> None:
        self.producer_id = producer_id
        self.producer_epoch = NO_EPOCH
        self.coordinator_epoch = NO_EPOCH
        self.last_timestamp = -1
        self.txn_first_offset = NO_OFFSET
        self.batches: list[BatchMark] = []

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    def duplicate_of(self, header: BatchHeader) -> BatchMark | None:
        """The batch that was stored when this one was sent for the first time."""
        if header.producer_epoch != self.producer_epoch:
            return None
        last_sequence = header.last_sequence
        for mark in self.batches:
            if mark.last_sequence == last_sequence and mark.first_sequence == header.base_sequence:
                return mark
        return None

    def check_epoch(self, producer_epoch: int) -> None:
        if producer_epoch < self.producer_epoch:
            raise KafkaError(
                KafkaCode.INVALID_PRODUCER_EPOCH,
                f"Producer {self.producer_id} has epoch {self.producer_epoch} here; {producer_epoch} is older.",
            )

    def check_sequence(self, header: BatchHeader) -> None:
        if self.producer_epoch == NO_EPOCH:
            return
        last = self.last_sequence if header.producer_epoch == self.producer_epoch else NO_SEQUENCE
        expected = 0 if last == SEQUENCE_MAX else last + 1
        if header.base_sequence != expected:
            raise KafkaError(
                KafkaCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Producer {self.producer_id} sent sequence {header.base_sequence} where {expected} comes next.",
            )

    def check_transaction(self, header: BatchHeader) -> None:
        if self.txn_first_offset != NO_OFFSET and not header.is_transactional:
            raise KafkaError(
                KafkaCode.INVALID_TXN_STATE,
                f"Producer {self.producer_id} has a transaction open and wrote outside of it.",
            )

    def set_epoch(self, producer_epoch: int) -> None:
        if producer_epoch != self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.batches = []

    def add(self, mark: BatchMark) -> None:
        self.batches.append(mark)
        if len(self.batches) > BATCHES_REMEMBERED:
            del self.batches[0]
        self.last_timestamp = mark.timestamp
