"""Asks new leaders whether their logs still have what a consumer has read, before it reads on (KIP-320)."""

import asyncio
import logging
from typing import TYPE_CHECKING

from tidelog.client.configs.consumer import ConsumerConfig
from tidelog.client.core.fetch_response import FetchedPartition
from tidelog.client.core.positions import RESET_TIMESTAMPS, PartitionPosition, Truncation
from tidelog.client.errors import LogTruncationError
from tidelog.client.shell.connections import NETWORK_FAULTS, Connections
from tidelog.client.shell.epoch_ends import EpochAsked, can_be_asked, epoch_ends
from tidelog.client.shell.metadata import Metadata
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.offset_for_leader_epoch import EpochEndOffset

if TYPE_CHECKING:
    from tidelog.client.shell.fetcher import Fetcher

_log = logging.getLogger("tidelog.client.consumer")


class PositionCheck:
    """The checks under way. A partition is not fetched while it is checked."""

    def __init__(
        self, fetcher: "Fetcher", config: ConsumerConfig, connections: Connections, metadata: Metadata
    ) -> None:
        self._fetcher = fetcher
        self._config = config
        self._connections = connections
        self._metadata = metadata
        self.tasks: set[asyncio.Task[None]] = set()

    def start(self, leader: int, states: list[PartitionPosition]) -> None:
        for state in states:
            state.is_fetching = True
        task = asyncio.create_task(self._check(leader, states))
        self.tasks.add(task)
        task.add_done_callback(lambda _: self._on_done(task, states))

    def _on_done(self, task: "asyncio.Task[None]", states: list[PartitionPosition]) -> None:
        self.tasks.discard(task)
        for state in states:
            state.is_fetching = False
        self._fetcher.wake()

    async def _check(self, leader: int, states: list[PartitionPosition]) -> None:
        asked = {each.partition: EpochAsked(each.fetch_epoch, self._leader_epoch(each)) for each in states}
        places = {each.partition: (each.fetch_offset, each.fetch_epoch) for each in states}
        try:
            link = await self._connections.link(leader)
            if not can_be_asked(link):
                for state in states:
                    state.current_epoch = asked[state.partition].leader_epoch
                return
            ends = await epoch_ends(link, asked)
        except (KafkaError, *NETWORK_FAULTS):
            self._fetcher.postpone(states)
            self._metadata.request()
            return
        for state in states:
            end = ends.get(state.partition)
            if end is None:
                self._fetcher.postpone([state])
            elif state.position is not None and places[state.partition] == (state.fetch_offset, state.fetch_epoch):
                self._on_end(state, asked[state.partition].leader_epoch, end)

    def _leader_epoch(self, state: PartitionPosition) -> int:
        info = self._metadata.view.partition(*state.partition)
        return -1 if info is None else info.leader_epoch

    def _on_end(self, state: PartitionPosition, leader_epoch: int, end: EpochEndOffset) -> None:
        if end.error_code:
            self._fetcher.on_refused(state, FetchedPartition(KafkaCode(end.error_code)))
            return
        truncation = state.on_epoch_end(leader_epoch, end.end_offset, end.leader_epoch)
        if truncation is not None:
            self._on_truncated(state, leader_epoch, truncation)

    def _on_truncated(self, state: PartitionPosition, leader_epoch: int, truncation: Truncation) -> None:
        assert state.position is not None, "only what was read can be truncated"
        position, diverges_at = state.position, truncation.offset if truncation.offset >= 0 else None
        timestamp = RESET_TIMESTAMPS.get(self._config.auto_offset_reset)
        if timestamp is None:
            # Whatever waits here is from the log that is gone.
            state.seek(position, state.leader_epoch)
            self._fetcher.postpone([state])
            self._fetcher.tell(LogTruncationError(*state.partition, position, diverges_at))
        elif diverges_at is None:
            _log.warning("%s lost what was read up to offset %d; its position is reset", state.partition, position)
            state.reset(timestamp)
            self._fetcher.on_reset()
        else:
            _log.warning(
                "%s was read up to offset %d and truncated to %d; going on from there",
                state.partition,
                position,
                diverges_at,
            )
            state.seek(diverges_at, truncation.leader_epoch)
            state.current_epoch = leader_epoch
