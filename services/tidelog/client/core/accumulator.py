"""Records that wait to be sent: a queue of batches per partition, within a bound of memory.

Memory is taken per batch, when its first record comes (`batch.size`, or more for a larger record), and given back when the
batch is done. So appending to an open batch, which is what nearly every record does, costs no accounting at all.
"""

from collections.abc import Sequence

from tidelog.client.core.batch import ProducerBatch, largest_record_size
from tidelog.client.core.partition_queue import PartitionQueue
from tidelog.client.errors import RecordTooLargeError
from tidelog.client.records import Header
from tidelog.kafka.records.compression import Codec


class Accumulator:
    """All queues of a producer."""

    def __init__(
        self,
        *,
        batch_size: int,
        memory_bytes: int,
        request_size_max: int,
        codec: Codec = Codec.NONE,
        is_transactional: bool = False,
        in_flight_max: int = 5,
    ) -> None:
        self.free_bytes = memory_bytes
        self._memory_bytes = memory_bytes
        self._batch_size = min(batch_size, request_size_max)
        self._request_size_max = request_size_max
        self._codec = codec
        self._is_transactional = is_transactional
        self._in_flight_max = in_flight_max
        self.queues: dict[tuple[str, int], PartitionQueue] = {}
        # Queues that have something to send, in the order in which they got it. A dict, since sets have no order.
        self.waiting: dict[PartitionQueue, None] = {}

    def queue(self, topic: str, partition: int) -> PartitionQueue:
        """The queue of a partition, made at the first need."""
        found = self.queues.get((topic, partition))
        if found is None:
            found = self.queues[topic, partition] = PartitionQueue(topic, partition, self._in_flight_max)
        return found

    def start_batch(
        self, queue: PartitionQueue, now_ms: int, key: bytes | None, value: bytes | None, headers: Sequence[Header]
    ) -> ProducerBatch | None:
        """An open batch with room for this record at least; None if there is no memory for it now."""
        needed = largest_record_size(key, value, headers)
        self.check_size(needed)
        reserved = max(self._batch_size, needed)
        if reserved > self.free_bytes:
            return None
        self.free_bytes -= reserved
        queue.close_open()
        queue.open = batch = ProducerBatch(
            queue.topic,
            queue.partition,
            size=self._batch_size,
            codec=self._codec,
            is_transactional=self._is_transactional,
            created_ms=now_ms,
            reserved_bytes=reserved,
        )
        batch.when_done(self._release)
        self.waiting[queue] = None
        return batch

    def check_size(self, needed: int) -> None:
        """Raise RecordTooLargeError for a record that could never be sent."""
        if needed > self._request_size_max:
            raise RecordTooLargeError(
                f"value: a record of up to {needed} bytes is above max.request.size, {self._request_size_max}"
            )
        if needed > self._memory_bytes:
            raise RecordTooLargeError(
                f"value: a record of up to {needed} bytes is above buffer.memory, {self._memory_bytes}"
            )

    def has_room_for(self, needed: int) -> bool:
        """Whether a batch could be started for a record of this size."""
        return max(self._batch_size, needed) <= self.free_bytes

    def took(self, queue: PartitionQueue) -> None:
        """Its head was taken; leave it out of the waiting ones if that was all."""
        if queue.is_empty:
            self.waiting.pop(queue, None)

    def put_back(self, queue: PartitionQueue, batch: ProducerBatch, attempt_at_ms: int) -> None:
        """Send a batch again, in its place, not before a time."""
        queue.put_back(batch, attempt_at_ms)
        self.waiting[queue] = None

    def split(self, queue: PartitionQueue, batch: ProducerBatch) -> None:
        """Send a batch in halves, in its place."""
        queue.replace(batch, batch.split(max(batch.size // 2, 1)))
        self.waiting[queue] = None

    def expire(self, created_before_ms: int) -> list[ProducerBatch]:
        """Take out the batches that have waited for too long; what is in flight is not touched."""
        expired: list[ProducerBatch] = []
        for queue in list(self.waiting):
            while not queue.is_empty and queue.head().created_ms < created_before_ms:
                batch = queue.take()
                queue.settle(batch)
                expired.append(batch)
            self.took(queue)
        return expired

    def drop_all(self) -> list[ProducerBatch]:
        """Take out everything that is not in flight."""
        dropped: list[ProducerBatch] = []
        for queue in list(self.waiting):
            queue.close_open()
            dropped.extend(queue.closed)
            queue.closed.clear()
        self.waiting.clear()
        return dropped

    def unsent_or_unanswered(self) -> list[ProducerBatch]:
        """Every batch that is not done, for whoever waits for all of them."""
        found: list[ProducerBatch] = []
        for queue in self.queues.values():
            found.extend(queue.in_flight)
            found.extend(queue.closed)
            if queue.open is not None:
                found.append(queue.open)
        return found

    def _release(self, batch: ProducerBatch) -> None:
        self.free_bytes += batch.reserved_bytes


def _too_large(needed: int, setting: str, limit: int) -> str:
    return f"value: a record of up to {needed} bytes is above {setting}, which is {limit}"
