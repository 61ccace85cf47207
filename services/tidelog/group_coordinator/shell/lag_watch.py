"""Asks the brokers now and then where the partitions end that groups have committed to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidelog.group_coordinator.core.groups.offsets import Partition
from tidelog.group_coordinator.core.lag import Lags
from tidelog.group_coordinator.shell.peers import UnreachableError
from tidelog.kafka.cluster import Role
from tidelog.kafka.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.net.connection import ConnectionLostError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tidelog.group_coordinator.core.lag import Lag
    from tidelog.group_coordinator.shell.peers import Peers
    from tidelog.group_coordinator.shell.shards import Shards
    from tidelog.kafka.cluster import ClusterView
    from tidelog.runtime.clock import Clock

_VERSION = 5
_LATEST_TIMESTAMP = -1
# One request names at most so many partitions, so that no broker is kept busy for long by one of them.
_PARTITIONS_MAX = 2_000


class LagWatch:
    def __init__(
        self,
        shards: Shards,
        view: ClusterView,
        peers: Peers,
        clock: Clock,
        *,
        interval_ms: int,
        timeout_ms: int,
    ) -> None:
        self._shards = shards
        self._view = view
        self._peers = peers
        self._clock = clock
        self._interval_s = interval_ms / 1000
        self._timeout_s = timeout_ms / 1000
        self._lags = Lags()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._interval_s)
            await self._look()

    def lags(self) -> Iterator[tuple[str, Partition, int, Lag | None]]:
        """Group, partition, committed offset, and how far that is behind, of every group here."""
        now_ms = self._clock.now_ms()
        for group_id, partition, offset in self._committed():
            yield group_id, partition, offset, self._lags.lag(partition, offset, now_ms)

    def lag(self, partition: Partition, committed_offset: int) -> Lag | None:
        """None while the partition's end is not known."""
        return self._lags.lag(partition, committed_offset, self._clock.now_ms())

    def _committed(self) -> Iterator[tuple[str, Partition, int]]:
        for shard in self._shards.groups.values():
            if shard.content is not None:
                for group_id, partition, committed in shard.content.core.committed_offsets():
                    yield group_id, partition, committed.offset

    async def _look(self) -> None:
        wanted = {partition for _, partition, _ in self._committed()}
        self._lags.forget_all_but(wanted)
        by_leader: dict[int, list[Partition]] = {}
        for partition in wanted:
            name, number = partition
            topic = self._view.topics.get(name)
            known = topic.partitions.get(number) if topic else None
            if known is not None and known.leader in self._view.brokers:
                by_leader.setdefault(known.leader, []).append(partition)
        await asyncio.gather(*(self._ask(leader, partitions) for leader, partitions in by_leader.items()))

    async def _ask(self, leader: int, partitions: list[Partition]) -> None:
        for start in range(0, len(partitions), _PARTITIONS_MAX):
            request = _request(partitions[start : start + _PARTITIONS_MAX])
            try:
                connection = await self._peers.connection(Role.BROKER, leader)
                answer = await connection.call(request, _VERSION, timeout_s=self._timeout_s)
            except (UnreachableError, ConnectionLostError, TimeoutError, MalformedMessage):
                return
            ends = [
                (Partition(topic.name, each.partition_index), each.offset)
                for topic in answer.topics
                for each in topic.partitions
                if not each.error_code and each.offset >= 0
            ]
            self._lags.note_ends(ends, self._clock.now_ms())


def _request(partitions: Iterable[Partition]) -> ListOffsetsRequest:
    by_topic: dict[str, list[ListOffsetsPartition]] = {}
    for topic, index in partitions:
        asked = ListOffsetsPartition(partition_index=index, timestamp=_LATEST_TIMESTAMP)
        by_topic.setdefault(topic, []).append(asked)
    topics = [ListOffsetsTopic(name=name, partitions=asked) for name, asked in by_topic.items()]
    return ListOffsetsRequest(replica_id=-1, topics=topics)
