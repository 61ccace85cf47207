"""Where records enter a producer: into a batch of their partition, or in line for their topic or for room."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from tidelog.client.configs.producer import ProducerConfig
from tidelog.client.core.accumulator import Accumulator
from tidelog.client.core.cluster import NO_LEADER, TopicInfo
from tidelog.client.core.partition_queue import PartitionQueue
from tidelog.client.core.partitioners import Partitioner, TopicShape
from tidelog.client.core.record_checks import check_record, fault_of_record
from tidelog.client.core.waiting import WaitingLines, WaitingRecord
from tidelog.client.errors import BufferFullError, RequestTimeoutError, WrongArgumentError
from tidelog.client.records import Header
from tidelog.client.shell.delivery import Delivery
from tidelog.client.shell.metadata import Metadata
from tidelog.client.shell.sender import now_ms
from tidelog.kafka.errors import KafkaError

# After so many new batches a loop of `enqueue` lets the rest of the program run, the sender first of all.
_BATCHES_A_TURN = 16


class _Target:
    """A topic that records go to: its shape, and the queues of its partitions."""

    __slots__ = ("queues", "shape")

    def __init__(self, shape: TopicShape, queues: list[PartitionQueue]) -> None:
        self.shape = shape
        self.queues = queues


class Intake:
    """Finds each record its place."""

    def __init__(
        self,
        config: ProducerConfig,
        accumulator: Accumulator,
        partitioner: Partitioner,
        metadata: Metadata,
        wake_sender: Callable[[], None],
    ) -> None:
        self._config = config
        self._accumulator = accumulator
        self._partitioner = partitioner
        self._partition = partitioner.partition
        self._metadata = metadata
        self._wake_sender = wake_sender
        self._lines = WaitingLines(config.buffer_memory)
        self._targets: dict[str, _Target] = {}
        self._learning: dict[str, asyncio.Task[None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()
        self._batches = 0
        metadata.listeners.append(self._on_metadata)

    def put(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header],
        timestamp: int,
        partition: int | None,
    ) -> Delivery:
        """Take a record in. This is what every record goes through, so it does the usual case in one piece."""
        target = self._targets.get(topic)
        if target is not None and not self._lines:
            try:
                chosen = self._partition(target.shape, key) if partition is None else partition
                batch = target.queues[chosen].open if 0 <= chosen < target.shape.count else None
                if batch is not None:
                    index = batch.count
                    if batch.write(index, timestamp, key, value, headers) is not None:
                        batch.count = index + 1
                        return Delivery(batch, index, timestamp)
            except (TypeError, AttributeError) as error:
                raise fault_of_record(topic, key, value, timestamp, headers, partition, error) from error
        check_record(topic, key, value, timestamp, headers, partition)
        if target is not None and self._lines.first(topic) is None:
            delivery = Delivery(None, timestamp=timestamp)
            if self._place(target, key, value, headers, timestamp, partition, delivery):
                return delivery
        return self._stand_in_line(topic, key, value, headers, timestamp, partition)

    @property
    def is_busy(self) -> bool:
        """Whether whoever can wait should let others run before the next record."""
        return bool(self._lines) or self._batches >= _BATCHES_A_TURN

    async def until_room(self) -> None:
        """Let others run, and wait while records stand in line; BufferFullError after `max.block.ms`."""
        self._batches = 0
        await asyncio.sleep(0)
        if not self._lines:
            return
        try:
            async with asyncio.timeout(self._config.max_block_ms / 1000):
                await self.until_no_lines()
        except TimeoutError:
            raise self._no_room() from None

    async def until_no_lines(self) -> None:
        while self._lines:
            self._room.clear()
            await self._room.wait()

    def serve_lines(self) -> None:
        """Let those who stand in line in, as far as there is room."""
        for topic in list(self._lines.by_topic):
            self._serve_line(topic)

    def refuse_all(self, error: BaseException) -> None:
        for topic in list(self._lines.by_topic):
            self._refuse_line(topic, error)

    async def close(self) -> None:
        tasks = list(self._learning.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._timer is not None:
            self._timer.cancel()

    # ---- the slow way of a record

    def _place(
        self,
        target: _Target,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header],
        timestamp: int,
        partition: int | None,
        delivery: Delivery,
    ) -> bool:
        """Put a record into a batch, a new one if need be; False if there is no memory for one."""
        queue = self._queue_for(target, key, partition)
        index = -1 if queue.open is None else queue.open.append(timestamp, key, value, headers)
        if index < 0 and partition is None and key is None:
            queue = self._next_queue(target, queue)
            index = -1 if queue.open is None else queue.open.append(timestamp, key, value, headers)
        if index < 0:
            batch = self._accumulator.start_batch(queue, now_ms(), key, value, headers)
            if batch is None:
                return False
            index = batch.append(timestamp, key, value, headers)
            self._batches += 1
            self._wake_sender()
        assert queue.open is not None, "the record is in it"
        delivery.place(queue.open, index)
        return True

    def _queue_for(self, target: _Target, key: bytes | None, partition: int | None) -> PartitionQueue:
        chosen = self._partition(target.shape, key) if partition is None else partition
        if chosen >= target.shape.count:
            raise WrongArgumentError(
                f"partition: topic {target.shape.name} has no partition {chosen}, only 0 to {target.shape.count - 1}"
            )
        return target.queues[chosen]

    def _next_queue(self, target: _Target, full: PartitionQueue) -> PartitionQueue:
        """A record without a key would start a batch: let the partitioner move on, and the full batch go."""
        self._partitioner.on_new_batch(target.shape, full.partition)
        if full.open is not None:
            full.close_open()
            self._wake_sender()
        return target.queues[self._partition(target.shape, None)]

    def _stand_in_line(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[Header],
        timestamp: int,
        partition: int | None,
    ) -> Delivery:
        size = self._lines.size_of(key, value, headers)
        self._accumulator.check_size(size)
        if not self._lines.has_room_for(size):
            raise BufferFullError(
                f"buffer.memory: {self._config.buffer_memory} bytes wait to be sent and as many stand in line; "
                "await enqueue() to wait for room"
            )
        delivery = Delivery(None, timestamp=timestamp)
        give_up_at_ms = now_ms() + self._config.max_block_ms
        self._lines.add(topic, WaitingRecord(key, value, headers, timestamp, partition, delivery, give_up_at_ms, size))
        if topic not in self._targets and topic not in self._learning:
            self._learning[topic] = asyncio.create_task(self._learn(topic))
        self._watch_lines()
        self._wake_sender()
        return delivery

    # ---- lines

    async def _learn(self, topic: str) -> None:
        try:
            known = await self._metadata.topic(topic, self._config.max_block_ms)
        except (KafkaError, RequestTimeoutError) as error:
            self._refuse_line(topic, error)
        else:
            self._aim_at(known)
        finally:
            del self._learning[topic]
        self._serve_line(topic)

    def _serve_line(self, topic: str) -> None:
        target = self._targets.get(topic)
        while target is not None and (first := self._lines.first(topic)) is not None:
            if not self._admit(target, topic, first):
                return
        if not self._lines:
            self._room.set()

    def _admit(self, target: _Target, topic: str, first: WaitingRecord) -> bool:
        delivery: Delivery = first.delivery
        try:
            if not self._place(
                target, first.key, first.value, first.headers, first.timestamp, first.partition, delivery
            ):
                return False
        except WrongArgumentError as error:
            delivery.refuse(error)
        self._lines.leave(topic)
        return True

    def _refuse_line(self, topic: str, error: BaseException) -> None:
        for record in self._lines.drop(topic):
            record.delivery.refuse(error)
        if not self._lines:
            self._room.set()

    def _watch_lines(self) -> None:
        next_ms = self._lines.next_expiry_ms()
        if next_ms is not None and self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(max(1, next_ms - now_ms()) / 1000, self._expire_lines)

    def _expire_lines(self) -> None:
        self._timer = None
        for topic, record in self._lines.expired(now_ms()):
            record.delivery.refuse(self._no_room() if topic in self._targets else self._unknown(topic))
        if not self._lines:
            self._room.set()
        self._watch_lines()

    def _no_room(self) -> BufferFullError:
        limit, wait_ms = self._config.buffer_memory, self._config.max_block_ms
        return BufferFullError(f"buffer.memory: no room within {limit} bytes for max.block.ms, {wait_ms}")

    def _unknown(self, topic: str) -> RequestTimeoutError:
        return RequestTimeoutError(f"topic: {topic} is not known after max.block.ms, {self._config.max_block_ms}")

    # ---- topics

    def _aim_at(self, topic: TopicInfo) -> None:
        shape = self._shape(topic)
        known = self._targets.get(topic.name)
        if known is None:
            known = self._targets[topic.name] = _Target(shape, [])
        if shape.count >= len(known.queues):
            new = range(len(known.queues), shape.count)
            known.queues.extend(self._accumulator.queue(topic.name, number) for number in new)
        known.shape = shape

    def _shape(self, topic: TopicInfo) -> TopicShape:
        led = [each for each in topic.partitions.values() if each.leader != NO_LEADER]
        available = tuple(sorted(each.partition for each in led)) or tuple(range(len(topic.partitions)))
        nodes = self._metadata.view.nodes
        rack: Any = self._config.client_rack or None
        near = [each.partition for each in led if rack and each.leader in nodes and nodes[each.leader].rack == rack]
        return TopicShape(topic.name, len(topic.partitions), available, tuple(sorted(near)))

    def _on_metadata(self) -> None:
        for name in self._targets:
            known = self._metadata.view.topics.get(name)
            if known is not None and known.partitions and not known.error:
                self._aim_at(known)
        self._wake_sender()
