"""The batches of one partition between `send` and acknowledgement, in the order in which they must be written.

    open      the batch that records are appended to, if any
    closed    batches that wait to be sent, the oldest first
    in_flight batches that were sent and are not answered, the oldest first

A batch that must be sent again goes back into `closed` before everything that is younger, so it keeps its place. With
sequence numbers (idempotence) several may be in flight, since the broker refuses a batch whose predecessor is missing;
without them one at a time is, so that a retry cannot be overtaken. One at a time are also the first batch, because a
broker takes whatever sequence it sees first, and batches that are sent again.
"""

from collections import deque

from tidelog.client.core.batch import ProducerBatch
from tidelog.kafka.records.header import NO_SEQUENCE, advance_sequence


class PartitionQueue:
    """One partition's batches on their way."""

    __slots__ = (
        "_has_begun",
        "attempt_at_ms",
        "closed",
        "in_flight",
        "in_flight_max",
        "next_sequence",
        "open",
        "partition",
        "topic",
    )

    def __init__(self, topic: str, partition: int, in_flight_max: int) -> None:
        self.topic = topic
        self.partition = partition
        self.in_flight_max = in_flight_max
        self.open: ProducerBatch | None = None
        self.closed: deque[ProducerBatch] = deque()
        self.in_flight: deque[ProducerBatch] = deque()
        self.next_sequence = 0
        # A batch of the present identity was acknowledged.
        self._has_begun = False
        # Nothing is sent before this time, after a failure.
        self.attempt_at_ms = 0

    @property
    def is_empty(self) -> bool:
        """Nothing waits to be sent; something may be in flight."""
        return self.open is None and not self.closed

    @property
    def is_idle(self) -> bool:
        return self.open is None and not self.closed and not self.in_flight

    def may_send_head(self) -> bool:
        """Whether what is in flight allows the head to go, too."""
        if not self.in_flight:
            return True
        is_retry = bool(self.closed) and self.closed[0].base_sequence != NO_SEQUENCE
        return self._has_begun and not is_retry and len(self.in_flight) < self.in_flight_max

    def close_open(self) -> None:
        """No more records for the open batch."""
        if self.open is not None:
            self.closed.append(self.open)
            self.open = None

    def ready_at_ms(self, linger_ms: int) -> int:
        """When its oldest batch may go, as far as lingering and backing off are concerned."""
        if self.closed:
            return self.attempt_at_ms
        assert self.open is not None, "an empty queue is never ready"
        return max(self.attempt_at_ms, self.open.created_ms + linger_ms)

    def head(self) -> ProducerBatch:
        """The batch that is to be sent next."""
        batch = self.closed[0] if self.closed else self.open
        assert batch is not None, "an empty queue has no head"
        return batch

    def take(self) -> ProducerBatch:
        """Move the head into flight."""
        if self.closed:
            batch = self.closed.popleft()
        else:
            assert self.open is not None, "an empty queue has no head"
            batch, self.open = self.open, None
        batch.attempts += 1
        self.in_flight.append(batch)
        return batch

    def number(self, batch: ProducerBatch, producer_id: int, producer_epoch: int) -> None:
        """Give a batch its sequence when it is sent for the first time under this identity; a retry keeps it."""
        if batch.base_sequence == NO_SEQUENCE:
            batch.stamp(producer_id, producer_epoch, self.next_sequence)
            self.next_sequence = advance_sequence(self.next_sequence, batch.count)

    def settle(self, batch: ProducerBatch) -> None:
        """A batch is answered for good."""
        self.in_flight.remove(batch)
        self._has_begun = True

    def put_back(self, batch: ProducerBatch, attempt_at_ms: int) -> None:
        """Send it again, in its place."""
        self.in_flight.remove(batch)
        self.attempt_at_ms = max(self.attempt_at_ms, attempt_at_ms)
        self._insert(batch)

    def replace(self, batch: ProducerBatch, parts: list[ProducerBatch]) -> None:
        """Send the parts of a batch in its place; they share its sequences."""
        self.in_flight.remove(batch)
        sequence = batch.base_sequence
        for part in parts:
            if sequence != NO_SEQUENCE:
                part.stamp(batch.producer_id, batch.producer_epoch, sequence)
                sequence = advance_sequence(sequence, part.count)
            self._insert(part)

    def renumber(self) -> None:
        """Forget all sequences; batches that wait are numbered again when they are sent."""
        assert not self.in_flight, "what is in flight has its sequence"
        self.next_sequence = 0
        self._has_begun = False
        for batch in self.closed:
            batch.stamp(batch.producer_id, batch.producer_epoch, NO_SEQUENCE)

    def _insert(self, batch: ProducerBatch) -> None:
        # What was sent before is older than what was not, and among those the sequence tells (it may wrap once).
        younger = [each for each in self.closed if is_younger(each, batch)]
        for _ in younger:
            self.closed.pop()
        self.closed.append(batch)
        self.closed.extend(younger)


def is_younger(one: ProducerBatch, other: ProducerBatch) -> bool:
    """Whether one batch of a partition comes after another."""
    if one.base_sequence == NO_SEQUENCE or other.base_sequence == NO_SEQUENCE:
        return one.attempts == 0
    distance = (one.base_sequence - other.base_sequence) & 0x7FFFFFFF
    return 0 < distance < 0x40000000
