"""The consumer without `await`."""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any

from tidelog.client import consumer as aio
from tidelog.client.core.assignors import Assignor
from tidelog.client.core.fetched import Deserializer
from tidelog.client.records import ConsumerRecord, OffsetAndMetadata, TopicPartition
from tidelog.client.shell.rebalancing import RebalanceListener
from tidelog.client.sync.loop_thread import SyncClient, plain, waiting

_ITERATION_POLL_MS = 1000


class Consumer(SyncClient[aio.Consumer]):
    """As `tidelog.client.Consumer`; every call waits. Rebalance listeners are called in a thread of their own."""

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        assignors: Iterable[Assignor] = (),
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
        **given: Any,
    ) -> None:
        super().__init__(
            aio.Consumer(
                settings,
                assignors=assignors,
                key_deserializer=key_deserializer,
                value_deserializer=value_deserializer,
                **given,
            )
        )
        # Polled for the iteration and not given out by it yet.
        self._left: dict[TopicPartition, deque[ConsumerRecord]] = {}

    # ---- what to read

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        *,
        pattern: str | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """As `tidelog.client.Consumer.subscribe`."""
        told = None if listener is None else _InThread(listener, self._loop_thread().loop)
        self._call(self._client.subscribe, topics, pattern=pattern, listener=told)

    assign = plain(aio.Consumer.assign)
    unsubscribe = waiting(aio.Consumer.unsubscribe)
    subscription = plain(aio.Consumer.subscription)
    assignment = plain(aio.Consumer.assignment)

    # ---- reading

    def poll(
        self, timeout_ms: int = 1000, *, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """As `tidelog.client.Consumer.poll`."""
        left, self._left = self._left, {}
        if left:
            return {partition: list(records) for partition, records in left.items()}
        return self._run(self._client.poll(timeout_ms, max_records=max_records))

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """Records one by one, for as long as the consumer is open. What is not given out is not committed."""
        while True:
            if not self._left:
                polled = self._run(self._client.poll(_ITERATION_POLL_MS))
                self._left = {partition: deque(records) for partition, records in polled.items()}
            while self._left:
                partition, records = next(iter(self._left.items()))
                record = records.popleft()
                if not records:
                    del self._left[partition]
                yield record

    def close(self) -> None:
        """Commit what was consumed (if that is automatic), leave the group and give everything back."""
        if self._thread is not None and self._left:
            self._call(self._give_back)
        super().close()

    def _give_back(self) -> None:
        """What was polled for an iteration that stopped early was never given out."""
        left, self._left = self._left, {}
        for partition, records in left.items():
            if partition in self._client.assignment():
                self._client.seek(partition, records[0].offset)

    # ---- positions

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Go on from this offset."""
        self._left.pop(TopicPartition(*partition), None)
        self._call(self._client.seek, partition, offset)

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Go on from the first record that is there; of all partitions if none is named."""
        self._drop(partitions)
        self._call(self._client.seek_to_beginning, *partitions)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Go on from the end; of all partitions if none is named."""
        self._drop(partitions)
        self._call(self._client.seek_to_end, *partitions)

    def _drop(self, partitions: Iterable[TopicPartition]) -> None:
        for each in list(partitions) or list(self._left):
            self._left.pop(TopicPartition(*each), None)

    def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that will be given."""
        left = self._left.get(TopicPartition(*partition))
        return left[0].offset if left else self._run(self._client.position(partition))

    pause = plain(aio.Consumer.pause)
    resume = plain(aio.Consumer.resume)
    paused = plain(aio.Consumer.paused)

    def lag(self, partition: TopicPartition) -> int | None:
        """As `tidelog.client.Consumer.lag`; what an iteration has not given out yet counts."""
        found: int | None = self._call(self._client.lag, partition)
        return None if found is None else found + self._ahead(partition)

    def lead(self, partition: TopicPartition) -> int | None:
        """As `tidelog.client.Consumer.lead`; what an iteration has not given out yet does not count."""
        found: int | None = self._call(self._client.lead, partition)
        return None if found is None else max(0, found - self._ahead(partition))

    def lags(self) -> dict[TopicPartition, int]:
        """The lag of every partition for which it is known."""
        found: dict[TopicPartition, int] = self._call(self._client.lags)
        return {each: lag + self._ahead(each) for each, lag in found.items()}

    def _ahead(self, partition: TopicPartition) -> int:
        """How far the client is ahead of what an iteration has given out."""
        left = self._left.get(TopicPartition(*partition))
        return left[-1].offset + 1 - left[0].offset if left else 0

    offsets_for_times = waiting(aio.Consumer.offsets_for_times)
    beginning_offsets = waiting(aio.Consumer.beginning_offsets)
    end_offsets = waiting(aio.Consumer.end_offsets)

    # ---- commits

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions of all partitions that have one: what `commit` without arguments commits."""
        consumed: dict[TopicPartition, OffsetAndMetadata] = self._call(self._client.consumed)
        # In the middle of an iteration, only what it has given out is consumed.
        return consumed | {each: OffsetAndMetadata(left[0].offset) for each, left in self._left.items()}

    def commit(self, offsets: aio.Offsets | None = None, *, timeout_ms: int | None = None) -> None:
        """As `tidelog.client.Consumer.commit`."""
        self._run(self._client.commit(self._given_out(offsets), timeout_ms=timeout_ms))

    def commit_async(
        self, offsets: aio.Offsets | None = None, callback: aio.CommitCallback | None = None
    ) -> Future[None]:
        """Commit in the background; the callback is called on the client's loop."""
        wanted = self._given_out(offsets)

        async def commit() -> None:
            await self._client.commit_async(wanted, callback)

        return self._loop_thread().start(commit())

    def _given_out(self, offsets: aio.Offsets | None) -> aio.Offsets | None:
        return self.consumed() if offsets is None and self._left else offsets

    committed = waiting(aio.Consumer.committed)
    group_metadata = plain(aio.Consumer.group_metadata)
    partitions_for = waiting(aio.Consumer.partitions_for)
    list_topics = waiting(aio.Consumer.list_topics)


class _InThread(RebalanceListener):
    """Calls a listener in a thread, where it may use the consumer as everybody else does."""

    def __init__(self, listener: RebalanceListener, loop: asyncio.AbstractEventLoop) -> None:
        self._listener = listener
        self._loop = loop

    async def on_partitions_assigned(self, partitions: list[TopicPartition]) -> None:
        await self._loop.run_in_executor(None, self._listener.on_partitions_assigned, partitions)

    async def on_partitions_revoked(self, partitions: list[TopicPartition]) -> None:
        await self._loop.run_in_executor(None, self._listener.on_partitions_revoked, partitions)

    async def on_partitions_lost(self, partitions: list[TopicPartition]) -> None:
        await self._loop.run_in_executor(None, self._listener.on_partitions_lost, partitions)
