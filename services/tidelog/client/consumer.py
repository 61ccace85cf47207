"""The consumer: records of topics, shared with the other members of its group, or of partitions that it names itself.

    async with Consumer(bootstrap_servers="127.0.0.1:9092", group_id="billing") as consumer:
        consumer.subscribe(["orders"])
        async for record in consumer:
            ...

`poll` gives lists of records per partition and is the faster way. Whatever is committed automatically was given to the
application by an earlier poll (or an earlier step of the iteration), and never more.
"""

import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from tidelog.client.configs.consumer import ConsumerConfig
from tidelog.client.configs.reading import read_settings
from tidelog.client.core.assignors import Assignor, make_assignors
from tidelog.client.core.cluster import PartitionInfo, TopicInfo
from tidelog.client.core.fetched import Deserializer, deserialized, prepare
from tidelog.client.core.positions import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, Positions
from tidelog.client.core.subscription import Subscription
from tidelog.client.errors import IllegalStateError, WrongArgumentError
from tidelog.client.records import (
    ConsumerGroupMetadata,
    ConsumerRecord,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
)
from tidelog.client.shell.client import Client
from tidelog.client.shell.consuming import Consuming
from tidelog.client.shell.fetch_call import ISOLATION_LEVELS
from tidelog.client.shell.offset_lookup import look_up_offsets
from tidelog.client.shell.rebalancing import RebalanceListener

if TYPE_CHECKING:
    import asyncio

__all__ = ["Consumer", "ConsumerRecord", "RebalanceListener", "TopicPartition"]

Offsets = Mapping[TopicPartition, OffsetAndMetadata | int]
# Called with the offsets, and with why they were not committed, if they were not.
CommitCallback = Callable[[dict[TopicPartition, OffsetAndMetadata], BaseException | None], None]

# Who goes from record to record still takes care of its group and its commits every so many records.
_STEPS_A_ROUND = 500


class Consumer(Client):
    """Reads records. Settings are given by Kafka's names in a mapping, or as keyword arguments with underscores."""

    config: ConsumerConfig

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        assignors: Iterable[Assignor] = (),
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
        **given: Any,
    ) -> None:
        config = read_settings(ConsumerConfig, settings, given)
        super().__init__(config)
        self.config = config
        self._assignors = make_assignors(config.partition_assignment_strategy, assignors)
        self._key_deserializer = key_deserializer
        self._value_deserializer = value_deserializer
        self._subscription = Subscription()
        self._positions = Positions()
        self._consuming: Consuming
        self._is_polling = False
        self._steps = 0

    async def start(self) -> Self:
        """Find the cluster. The group is joined by the first poll after `subscribe`."""
        prepare()
        await super().start()
        self._consuming = Consuming(self, self.config, self._assignors, self._subscription, self._positions)
        return self

    async def close(self) -> None:
        """Commit what was consumed (if that is automatic), leave the group and give everything back."""
        if self._state == "open" and hasattr(self, "_consuming"):
            await self._consuming.close()
        await super().close()

    def _creates_topics(self) -> bool:
        return self.config.allow_auto_create_topics

    # ---- what to read

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        *,
        pattern: str | re.Pattern[str] | None = None,
        listener: RebalanceListener | None = None,
    ) -> None:
        """Read these topics, or those whose whole name matches the pattern, together with the rest of the group."""
        self.check_open()
        if (topics is None) == (pattern is None):
            raise WrongArgumentError("topics, pattern: one of them is wanted")
        if self.config.group_id is None:
            raise IllegalStateError("group.id: subscribe() needs it to be set; assign() does not")
        if pattern is not None:
            self._subscription.to_pattern(pattern)
        else:
            self._subscription.to_topics(topics or ())
        self._consuming.on_subscribed(listener or RebalanceListener())

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Read these partitions, without sharing them with anybody; those that stay keep their position."""
        self.check_open()
        wanted = [_checked(each) for each in partitions]
        self._subscription.to_partitions()
        self._positions.assign(wanted)
        self._consuming.on_assigned_by_hand()

    async def unsubscribe(self) -> None:
        """Read nothing any more; leaves the group."""
        self.check_open()
        await self._consuming.unsubscribe()

    def subscription(self) -> frozenset[str]:
        """The topics that are subscribed to; of a pattern, those that match at the moment."""
        return self._subscription.topics

    def assignment(self) -> frozenset[TopicPartition]:
        """The partitions that are read at the moment."""
        return self._positions.partitions()

    # ---- reading

    async def poll(
        self, timeout_ms: int = 1000, *, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Records that were not given before, in lists per partition; waits up to the timeout for the first.

        Raises NoOffsetError if a partition has no offset and `auto.offset.reset` is none, KafkaError for what brokers
        refuse for good.
        """
        self._enter_poll()
        try:
            most = self.config.max_poll_records if max_records is None else max_records
            taken = await self._consuming.poll(time.monotonic() + timeout_ms / 1000, most)
        finally:
            self._is_polling = False
        if self._key_deserializer is None and self._value_deserializer is None:
            return taken
        key, value = self._key_deserializer, self._value_deserializer
        return {partition: deserialized(records, key, value) for partition, records in taken.items()}

    def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        return self

    async def __anext__(self) -> ConsumerRecord:
        """The next record, however long it takes. Asking for it says that the one before it is dealt with."""
        if self._state != "open" or self._is_polling:
            self._enter_poll()
        self._steps += 1
        record = self._consuming.next() if self._steps < _STEPS_A_ROUND else None
        if record is None:
            record = await self._next_slowly()
        if self._key_deserializer is None and self._value_deserializer is None:
            return record
        return deserialized([record], self._key_deserializer, self._value_deserializer)[0]

    async def _next_slowly(self) -> ConsumerRecord:
        self._steps = 0
        self._enter_poll()
        try:
            while True:
                await self._consuming.prepare(time.monotonic() + self.config.heartbeat_interval_ms / 1000)
                record = self._consuming.next()
                if record is not None:
                    return record
        finally:
            self._is_polling = False

    def _enter_poll(self) -> None:
        self.check_open()
        if self._is_polling:
            raise IllegalStateError("poll: another task is polling this consumer")
        if not self._subscription.is_shared and not len(self._positions):
            raise IllegalStateError("poll: subscribe() or assign() first")
        self._is_polling = True

    # ---- positions

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Go on from this offset."""
        where = offset if isinstance(offset, OffsetAndMetadata) else OffsetAndMetadata(offset)
        if not isinstance(where.offset, int) or where.offset < 0:
            raise WrongArgumentError(f"offset: {where.offset!r} is not an offset")
        self._positions.of(partition, "seek").seek(where.offset, where.leader_epoch)
        self._consuming.on_seek()

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """Go on from the first record that is there; of all partitions if none is named."""
        self._reset("seek_to_beginning", partitions, EARLIEST_TIMESTAMP)

    def seek_to_end(self, *partitions: TopicPartition) -> None:
        """Go on from the end; of all partitions if none is named."""
        self._reset("seek_to_end", partitions, LATEST_TIMESTAMP)

    def _reset(self, call: str, partitions: Iterable[TopicPartition], timestamp: int) -> None:
        wanted = list(partitions) or list(self._positions.partitions())
        for state in [self._positions.of(each, call) for each in wanted]:
            state.reset(timestamp)
        self._consuming.on_seek()

    async def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that will be given; looked up if the partition has none yet."""
        self.check_open()
        state = self._positions.of(partition, "position")
        if state.position is None:
            await self._consuming.settle_positions(self.config.default_api_timeout_ms)
        assert state.position is not None, "it was looked up"
        return state.position

    def pause(self, *partitions: TopicPartition) -> None:
        """Give no records of these partitions until they are resumed; they stay assigned."""
        for state in [self._positions.of(each, "pause") for each in partitions]:
            state.is_paused = True

    def resume(self, *partitions: TopicPartition) -> None:
        """Give records of these partitions again."""
        for state in [self._positions.of(each, "resume") for each in partitions]:
            state.is_paused = False
        self._consuming.on_seek()

    def paused(self) -> frozenset[TopicPartition]:
        return frozenset(each.partition for each in self._positions if each.is_paused)

    def lag(self, partition: TopicPartition) -> int | None:
        """How many records the partition has beyond the position, by the last fetch; None before the first."""
        state = self._positions.of(partition, "lag")
        end = state.end_offset(committed=self.config.isolation_level == "read_committed")
        return None if state.position is None or end < 0 else max(0, end - state.position)

    def lead(self, partition: TopicPartition) -> int | None:
        """How many offsets lie between the first record that is kept and the position; None before the first fetch."""
        state = self._positions.of(partition, "lead")
        start = state.log_start_offset
        return None if state.position is None or start < 0 else max(0, state.position - start)

    def lags(self) -> dict[TopicPartition, int]:
        """The lag of every partition for which it is known."""
        found = {each: self.lag(each) for each in self.assignment()}
        return {each: lag for each, lag in found.items() if lag is not None}

    # ---- offsets

    async def offsets_for_times(
        self, times: Mapping[TopicPartition, int], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record of each partition at or after a time in milliseconds; None if all are older."""
        for each, timestamp in times.items():
            if timestamp < 0:
                raise WrongArgumentError(f"times: {timestamp} of {TopicPartition(*each)} is not a time in milliseconds")
        found = await self._look_up(times, timeout_ms)
        return {each: where if where.offset >= 0 else None for each, where in found.items()}

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """The first offset of each partition that is there."""
        found = await self._look_up(dict.fromkeys(partitions, EARLIEST_TIMESTAMP), timeout_ms)
        return {each: where.offset for each, where in found.items()}

    async def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """The offset after the last record of each partition that this consumer may read."""
        found = await self._look_up(dict.fromkeys(partitions, LATEST_TIMESTAMP), timeout_ms)
        return {each: where.offset for each, where in found.items()}

    async def _look_up(
        self, times: Mapping[TopicPartition, int], timeout_ms: int | None
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        self.check_open()
        return await look_up_offsets(
            self,
            {_checked(each): timestamp for each, timestamp in times.items()},
            isolation_level=ISOLATION_LEVELS[self.config.isolation_level],
            timeout_ms=self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms,
        )

    # ---- commits

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions of all partitions that have one: what `commit` without arguments commits."""
        return self._positions.consumed()

    async def commit(self, offsets: Offsets | None = None, *, timeout_ms: int | None = None) -> None:
        """Commit these offsets, or everything that polls gave so far, and wait for it.

        Raises CommitFailedError if the group has moved on without this member.
        """
        self.check_open()
        wanted = self._positions.consumed() if offsets is None else _checked_offsets(offsets)
        await self._consuming.commit(wanted, self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms)

    def commit_async(
        self, offsets: Offsets | None = None, callback: CommitCallback | None = None
    ) -> "asyncio.Task[None]":
        """Commit in the background, one commit after the other; the task ends as `commit` would."""
        self.check_open()
        wanted = self._positions.consumed() if offsets is None else _checked_offsets(offsets)
        task = self._consuming.commit_soon(wanted)
        if callback is not None:
            task.add_done_callback(lambda done: callback(wanted, None if done.cancelled() else done.exception()))
        return task

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed for these partitions; None where it has not."""
        self.check_open()
        wanted = [_checked(each) for each in partitions]
        found = await self._consuming.committed(
            wanted, self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        )
        return {each: found.get(each) for each in wanted}

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Who this consumer is in its group, for `Producer.send_offsets_to_transaction`."""
        return self._consuming.group_metadata()

    # ---- topics

    async def partitions_for(self, topic: str) -> list[PartitionInfo]:
        self.check_open()
        known = await self.metadata.topic(topic, self.config.default_api_timeout_ms)
        return [known.partitions[number] for number in sorted(known.partitions)]

    async def list_topics(self) -> dict[str, TopicInfo]:
        """Every topic of the cluster."""
        self.check_open()
        return await self._consuming.list_topics()


def _checked(partition: Any) -> TopicPartition:
    if not isinstance(partition, tuple) or len(partition) != 2:
        raise WrongArgumentError(f"partitions: {partition!r} is not a TopicPartition")
    topic, number = partition
    if not isinstance(topic, str) or not isinstance(number, int) or number < 0:
        raise WrongArgumentError(f"partitions: {partition!r} is not a topic's name and a partition's number")
    return TopicPartition(topic, number)


def _checked_offsets(offsets: Offsets) -> dict[TopicPartition, OffsetAndMetadata]:
    checked = {
        _checked(each): OffsetAndMetadata(offset) if isinstance(offset, int) else offset
        for each, offset in offsets.items()
    }
    for each, committed in checked.items():
        if not isinstance(committed, OffsetAndMetadata) or committed.offset < 0:
            raise WrongArgumentError(f"offsets: {committed!r} of {each} is not an offset")
    return checked
