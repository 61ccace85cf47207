"""What a poll does before it takes records: the group's business, commits that are due, positions that are missing."""

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

from tidelog.client.configs.consumer import ConsumerConfig
from tidelog.client.core.assignors import Assignor
from tidelog.client.core.cluster import TopicInfo
from tidelog.client.core.positions import RESET_TIMESTAMPS, Positions
from tidelog.client.core.subscription import Mode, Subscription
from tidelog.client.errors import CommitFailedError, IllegalStateError, NoOffsetError, RequestTimeoutError
from tidelog.client.records import ConsumerGroupMetadata, ConsumerRecord, OffsetAndMetadata, TopicPartition
from tidelog.client.shell.client import Client
from tidelog.client.shell.connections import NETWORK_FAULTS
from tidelog.client.shell.coordinators import Coordinator, KeyType
from tidelog.client.shell.fetch_call import ISOLATION_LEVELS
from tidelog.client.shell.fetcher import Fetcher
from tidelog.client.shell.group import Group, Round
from tidelog.client.shell.offset_lookup import look_up_offsets
from tidelog.client.shell.offsets import GroupOffsets
from tidelog.client.shell.rebalancing import RebalanceListener, tell
from tidelog.client.shell.sender import now_ms
from tidelog.kafka.errors import PROPERTIES, KafkaError

_log = logging.getLogger("tidelog.client.consumer")

_COMMIT_FAULTS = (KafkaError, RequestTimeoutError, *NETWORK_FAULTS)
# Looking for records happens at least this often, so that nothing waits for longer on an event that was missed.
_LOOK_S = 0.25


class Consuming:
    """One consumer's fetcher, group and commits under one roof."""

    def __init__(
        self,
        client: Client,
        config: ConsumerConfig,
        assignors: list[Assignor],
        subscription: Subscription,
        positions: Positions,
    ) -> None:
        self._client = client
        self._config = config
        self._subscription = subscription
        self._positions = positions
        self._fetcher = Fetcher(config, positions, client.connections, client.metadata)
        self._fetcher.on_reset = self._stir
        self._listener = RebalanceListener()
        self._group: Group | None = None
        self._offsets: GroupOffsets | None = None
        if config.group_id is not None:
            coordinator = Coordinator(client, config.group_id, KeyType.GROUP)
            self._offsets = GroupOffsets(config, coordinator)
            self._group = Group(client, config, assignors, coordinator, self._stir)
        self._next_commit_ms = now_ms() + config.auto_commit_interval_ms
        self._last_commit: asyncio.Task[None] | None = None
        self._positions_are_settled = True
        # The request for metadata by which the topics of the subscription are known.
        self._topics_asked = 0
        client.metadata.listeners.append(self._on_metadata)

    # ---- what to read

    def on_subscribed(self, listener: RebalanceListener) -> None:
        self._listener = listener
        if self._subscription.mode is Mode.PATTERN:
            self._client.metadata.follow_all()
        else:
            self._client.metadata.follow(self._subscription.topics)
        self._topics_asked = self._client.metadata.request()
        if self._group is not None:
            self._group.member.want_join()

    def on_assigned_by_hand(self) -> None:
        if self._client.metadata.follow({each.topic for each in self._positions.partitions()}):
            self._client.metadata.request()
        self._positions_are_settled = False
        self._fetcher.wake()

    def on_seek(self) -> None:
        self._positions_are_settled = False
        self._fetcher.wake()
        self._stir()

    async def unsubscribe(self) -> None:
        if self._subscription.is_shared and self._group is not None:
            await self._commit_before_leaving()
            await self._group.leave("the consumer has unsubscribed")
            await tell(self._listener.on_partitions_revoked, self._positions.partitions())
        self._subscription.clear()
        self._positions.assign(())

    async def close(self) -> None:
        await self._commit_before_leaving()
        if self._group is not None:
            if self._subscription.is_shared and len(self._positions):
                await tell(self._listener.on_partitions_revoked, self._positions.partitions())
            await self._group.close()
        if self._last_commit is not None:
            with suppress(*_COMMIT_FAULTS):
                await self._last_commit
        await self._fetcher.close()

    async def list_topics(self) -> dict[str, TopicInfo]:
        metadata = self._client.metadata
        metadata.follow_all()
        await metadata.refresh(self._config.default_api_timeout_ms)
        topics = dict(metadata.view.topics)
        if self._subscription.mode is not Mode.PATTERN:
            read = {each.topic for each in self._positions.partitions()}
            metadata.follow(self._subscription.topics | read, only=True)
        return topics

    # ---- polling

    def next(self) -> ConsumerRecord | None:
        """A record that is here already."""
        return self._fetcher.next()

    async def poll(self, deadline: float, most: int) -> dict[TopicPartition, list[ConsumerRecord]]:
        while True:
            await self.prepare(deadline)
            taken = self._fetcher.take(most)
            if taken or time.monotonic() >= deadline:
                return taken

    async def prepare(self, deadline: float) -> None:
        """Do what is due; then wait for records, or for something else to do, no longer than the deadline."""
        now = now_ms()
        if self._group is not None and self._subscription.is_shared:
            self._group.member.on_poll(now)
            if not await self._is_member(deadline):
                return
        self._commit_if_due(now)
        if not self._positions_are_settled:
            await self._try_to_settle_positions(deadline)
        self._fetcher.arrival.clear()
        if self._fetcher.has_records():
            # An application that is never out of records must still let the next ones come in.
            await asyncio.sleep(0)
            return
        self._fetcher.wake()
        left_s = min(deadline - time.monotonic(), _LOOK_S)
        if left_s <= 0:
            # Who polls without waiting must still let fetches come in.
            await asyncio.sleep(0)
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await self._fetcher.arrival.wait()

    def _stir(self) -> None:
        """Something has to be looked at by whoever waits in a poll."""
        self._positions_are_settled = False
        self._fetcher.arrival.set()

    def _on_metadata(self) -> None:
        if self._group is None or not self._subscription.is_shared:
            return
        if self._subscription.mode is Mode.PATTERN:
            view, excludes = self._client.metadata.view, self._config.exclude_internal_topics
            if self._subscription.match(view, excludes_internal=excludes):
                self._group.member.want_join()
                self._stir()
        self._group.on_metadata(set(self._subscription.topics))

    # ---- the group

    async def _is_member(self, deadline: float) -> bool:
        """Whether the consumer has its place in the group; takes part in a round if it has to."""
        group = self._group
        assert group is not None, "asked only of a consumer with a group"
        if group.member.fatal is not None:
            raise KafkaError(group.member.fatal)
        if group.member.has_lost_partitions:
            await self._lose_partitions()
        while group.member.needs_join or group.is_joining:
            if not group.is_joining:
                if self._subscription.mode is Mode.PATTERN and not await self._knows_topics(deadline):
                    return False
                await self._prepare_round()
                group.start_round(Round(tuple(sorted(self._subscription.topics)), self._positions.partitions()))
            assigned = await group.finish_round(max(0.0, deadline - time.monotonic()))
            if assigned is None:
                return False
            await self._take_assignment(assigned)
        return True

    async def _knows_topics(self, deadline: float) -> bool:
        """Whether the pattern was compared with the topics there are: joining without them would be for nothing."""
        try:
            await self._client.metadata.wait_for(self._topics_asked, max(0, int((deadline - time.monotonic()) * 1000)))
        except RequestTimeoutError:
            return False
        return True

    async def _lose_partitions(self) -> None:
        assert self._group is not None, "asked only of a consumer with a group"
        self._group.member.has_lost_partitions = False
        lost = self._positions.partitions()
        self._positions.assign(())
        if lost:
            await tell(self._listener.on_partitions_lost, lost)

    async def _prepare_round(self) -> None:
        """Commit what was consumed while it still is this member's; an eager member then gives everything up."""
        assert self._group is not None, "asked only of a consumer with a group"
        await self._commit_before_leaving()
        if self._group.member.has_lost_partitions:
            await self._lose_partitions()
        owned = self._positions.partitions()
        if self._group.is_cooperative:
            owned = frozenset(each for each in owned if each.topic not in self._subscription.topics)
        if owned:
            await tell(self._listener.on_partitions_revoked, owned)
            self._positions.remove(owned)

    async def _take_assignment(self, assigned: list[TopicPartition]) -> None:
        assert self._group is not None, "asked only of a consumer with a group"
        change = self._group.member.change(
            self._positions.partitions(), assigned, is_cooperative=self._group.is_cooperative
        )
        if change.revoked:
            await tell(self._listener.on_partitions_revoked, change.revoked)
            self._positions.remove(change.revoked)
        self._client.metadata.follow({each.topic for each in assigned})
        self._positions.add(sorted(change.added))
        self._positions_are_settled = False
        self._next_commit_ms = now_ms() + self._config.auto_commit_interval_ms
        await tell(self._listener.on_partitions_assigned, change.added)
        self._fetcher.wake()

    # ---- positions

    async def _try_to_settle_positions(self, deadline: float) -> None:
        left_ms = max(1, int((deadline - time.monotonic()) * 1000))
        try:
            await self.settle_positions(left_ms)
        except (RequestTimeoutError, TimeoutError):
            return
        except KafkaError as error:
            if not PROPERTIES[error.code].retriable:
                raise

    async def settle_positions(self, timeout_ms: int) -> None:
        """Give every partition a position: the committed one, else what `auto.offset.reset` says."""
        deadline = time.monotonic() + timeout_ms / 1000
        unknown = [each.partition for each in self._positions.without_position()]
        if unknown and self._offsets is not None:
            self._positions.take_committed(await self._offsets.committed(unknown, timeout_ms))
        timestamp = RESET_TIMESTAMPS.get(self._config.auto_offset_reset)
        for state in self._positions.without_position():
            if timestamp is None:
                raise NoOffsetError(f"auto.offset.reset=none: there is no committed offset of {state.partition}")
            state.reset(timestamp)
        await self._reset_positions(max(1, int((deadline - time.monotonic()) * 1000)))
        self._positions_are_settled = True
        self._fetcher.wake()

    async def _reset_positions(self, timeout_ms: int) -> None:
        wanted = {each.partition: each.reset_to for each in self._positions.to_reset() if each.reset_to is not None}
        if not wanted:
            return
        level = ISOLATION_LEVELS[self._config.isolation_level]
        found = await look_up_offsets(self._client, wanted, isolation_level=level, timeout_ms=timeout_ms)
        for partition, where in found.items():
            state = self._positions.get(partition)
            if state is not None and state.reset_to == wanted[partition]:
                state.seek(where.offset, where.leader_epoch)
                info = self._client.metadata.view.partition(*partition)
                # It comes from the leader itself, which need not be asked once more whether it is right.
                state.current_epoch = -1 if info is None else info.leader_epoch

    # ---- commits

    def group_metadata(self) -> ConsumerGroupMetadata:
        if self._group is None:
            raise IllegalStateError("group.id: it is not set")
        if self._subscription.is_shared:
            return self._group.member.metadata()
        return ConsumerGroupMetadata(self._group.member.group_id)

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: int) -> None:
        if self._group is None or self._offsets is None:
            raise IllegalStateError("group.id: committing needs it to be set")
        member = self._group.member if self._subscription.is_shared else None
        await self._offsets.commit(offsets, self.group_metadata(), member, timeout_ms)

    def commit_soon(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> "asyncio.Task[None]":
        """Commit after the commits that are under way, so that an older one never comes last."""
        task = asyncio.create_task(self._commit_after(self._last_commit, offsets))
        # Whoever cares for a fault awaits the task or gave a callback.
        task.add_done_callback(lambda done: None if done.cancelled() else done.exception() and None)
        self._last_commit = task
        return task

    async def _commit_after(
        self, previous: "asyncio.Task[None] | None", offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        if previous is not None and not previous.done():
            await asyncio.wait({previous})
        await self.commit(offsets, self._config.default_api_timeout_ms)

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        if self._offsets is None:
            raise IllegalStateError("group.id: committed offsets need it to be set")
        return await self._offsets.committed(partitions, timeout_ms)

    def _commit_if_due(self, now: int) -> None:
        """At the beginning of a poll, when everything before the positions was given by earlier ones."""
        if not self._commits_automatically or now < self._next_commit_ms:
            return
        self._next_commit_ms = now + self._config.auto_commit_interval_ms
        if self._last_commit is None or self._last_commit.done():
            task = self.commit_soon(self._positions.consumed())
            task.add_done_callback(_log_fault)

    async def _commit_before_leaving(self) -> None:
        member = None if self._group is None else self._group.member
        if not self._commits_automatically or not len(self._positions):
            return
        if self._subscription.is_shared and (member is None or not member.is_member):
            return
        try:
            await self.commit(self._positions.consumed(), self._config.request_timeout_ms)
        except _COMMIT_FAULTS as error:
            _log.warning("offsets of group %s were not committed: %s", self._config.group_id, error)

    @property
    def _commits_automatically(self) -> bool:
        return self._config.enable_auto_commit and self._config.group_id is not None


def _log_fault(task: "asyncio.Task[None]") -> None:
    error = None if task.cancelled() else task.exception()
    if isinstance(error, CommitFailedError):
        _log.warning("the automatic commit failed: %s", error)
    elif error is not None:
        _log.info("the automatic commit failed and is repeated with the next one: %s", error)
