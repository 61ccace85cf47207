"""Fetches ahead of the application: one fetch under way a broker, for the partitions that have little left here.

Like the sender it is a function that runs when something may have changed, not a task. Faults that the application must
hear of wait until it polls.
"""

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from tidelog.client.configs.consumer import ConsumerConfig
from tidelog.client.core.cluster import NO_LEADER, PartitionInfo
from tidelog.client.core.fetch_response import FetchedPartition
from tidelog.client.core.fetch_session import NO_SESSION, SESSION_FAULTS, FetchSession, Wanted
from tidelog.client.core.fetched import FetchedRecords
from tidelog.client.core.positions import RESET_TIMESTAMPS, PartitionPosition, Positions
from tidelog.client.errors import NoOffsetError
from tidelog.client.records import ConsumerRecord, TopicPartition
from tidelog.client.shell.connections import NETWORK_FAULTS, Connections
from tidelog.client.shell.fetch_call import close_session, fetch
from tidelog.client.shell.metadata import Metadata
from tidelog.client.shell.position_check import PositionCheck
from tidelog.client.shell.sender import now_ms
from tidelog.kafka.errors import PROPERTIES, KafkaCode, KafkaError
from tidelog.net.frame_buffers import STAGE_BYTES, BufferPool

if TYPE_CHECKING:
    from collections.abc import Callable

_log = logging.getLogger("tidelog.client.consumer")

FETCH_PURPOSE = "fetch"
_TICK_S = 0.1
_BRIEF_WAIT_MS = 5
_LONGEST_WAIT_MS = 2**31 - 1
# What a few partitions have fetched at once; more partitions just use fresh memory.
_KEPT_BYTES_MAX = 32 * 1024 * 1024


class Fetcher:
    """What was fetched and not given to the application yet, and what is under way."""

    def __init__(
        self, config: ConsumerConfig, positions: Positions, connections: Connections, metadata: Metadata
    ) -> None:
        self._config = config
        self._positions = positions
        self._connections = connections
        self._metadata = metadata
        self._loop = asyncio.get_running_loop()
        self._reads_committed = config.isolation_level == "read_committed"
        self._fetching: dict[int, asyncio.Task[None]] = {}
        self._sessions: dict[int, FetchSession] = {}
        self._check = PositionCheck(self, config, connections, metadata)
        # Partitions with records here, in the order in which they came; a partition may stand here twice.
        self._arrived: deque[PartitionPosition] = deque()
        self._is_awake = False
        self._is_closed = False
        self._ticker = self._loop.call_later(_TICK_S, self._tick)
        self._fault: Exception | None = None
        self._buffers = BufferPool(_KEPT_BYTES_MAX)
        self.arrival = asyncio.Event()
        # Told when a fetch needs something of the consumer, such as a position that must be looked up anew.
        self.on_reset: Callable[[], None] = lambda: None
        metadata.listeners.append(self.wake)

    def wake(self) -> None:
        """Look soon at what can be fetched."""
        if not self._is_awake:
            self._is_awake = True
            self._loop.call_soon(self._run)

    async def close(self) -> None:
        self._is_closed = True
        self._ticker.cancel()
        tasks = [*self._fetching.values(), *self._check.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._close_sessions()

    def _close_sessions(self) -> None:
        for node, session in self._sessions.items():
            # Not on the connection of the fetches, where one may still be waiting for records.
            link = self._connections.ready(node)
            if link is not None and session.id != NO_SESSION:
                close_session(link, self._config, session)

    # ---- for the application

    def take(self, most: int) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Records of whichever partitions have some, no more than so many; their positions move behind them."""
        taken: dict[TopicPartition, list[ConsumerRecord]] = {}
        self.raise_fault()
        while most > 0 and (state := self._first_arrived()) is not None:
            fetched = state.fetched[0]
            records = fetched.take(most)
            state.position = fetched.next_offset
            if not records:
                self._used_up(state)
                continue
            state.leader_epoch = records[-1].leader_epoch
            most -= len(records)
            known = taken.get(state.partition)
            taken[state.partition] = records if known is None else known + records
        return taken

    def next(self) -> ConsumerRecord | None:
        """One record, for who goes from record to record."""
        while (state := self._first_arrived()) is not None:
            fetched = state.fetched[0]
            record = fetched.next()
            state.position = fetched.next_offset
            if record is not None:
                state.leader_epoch = record.leader_epoch
                return record
            self._used_up(state)
        self.raise_fault()
        return None

    def raise_fault(self) -> None:
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault

    def has_records(self) -> bool:
        return self._fault is not None or self._first_arrived() is not None

    def _first_arrived(self) -> PartitionPosition | None:
        arrived = self._arrived
        for _ in range(len(arrived)):
            state = arrived[0]
            if not state.fetched or self._positions.get(state.partition) is not state:
                arrived.popleft()
            elif state.is_paused:
                arrived.rotate(-1)
            else:
                return state
        return None

    def _used_up(self, state: PartitionPosition) -> None:
        lay_in = state.fetched.popleft().release()
        if isinstance(lay_in, bytearray):
            self._buffers.give(lay_in)
        self._arrived.popleft()
        if state.fetched:
            self._arrived.append(state)
        self.wake()

    def _keep(self, records: memoryview) -> memoryview:
        """Copy records out of a frame into memory that former ones have used, since fresh memory is dear."""
        capacity = max(STAGE_BYTES, 1 << (len(records) - 1).bit_length())
        kept = memoryview(self._buffers.take(capacity))[: len(records)]
        kept[:] = records
        return kept

    # ---- fetching

    def _run(self) -> None:
        self._is_awake = False
        if self._is_closed:
            return
        now = now_ms()
        by_node: dict[int, list[PartitionPosition]] = {}
        unsure: dict[int, list[PartitionPosition]] = {}
        busy: set[int] = set()
        for state in self._positions:
            if state.is_fetchable(now):
                info = self._led(state)
                if info is None:
                    continue
                if not state.is_valid_in(info.leader_epoch):
                    unsure.setdefault(info.leader, []).append(state)
                    continue
                node = state.read_replica if state.read_replica in self._metadata.view.nodes else info.leader
                if node not in self._fetching:
                    by_node.setdefault(node, []).append(state)
            elif state.fetched and not state.is_paused:
                busy.add(self._metadata.view.leader(*state.partition))
        for leader, states in unsure.items():
            self._check.start(leader, states)
        for node, states in by_node.items():
            # A partition that has enough here for now must not find its broker waiting for the records of another.
            self._start(node, states, _BRIEF_WAIT_MS if node in busy else _LONGEST_WAIT_MS)

    def _start(self, node: int, states: list[PartitionPosition], longest_wait_ms: int) -> None:
        for state in states:
            state.is_fetching = True
        wait_ms = min(self._config.fetch_max_wait_ms, longest_wait_ms)
        task = self._fetching[node] = self._loop.create_task(self._fetch(node, states, wait_ms))
        task.add_done_callback(lambda _: self._on_done(node, states))

    def _led(self, state: PartitionPosition) -> PartitionInfo | None:
        """Who leads the partition; None if nobody does, or nobody knows."""
        info = self._metadata.view.partition(*state.partition)
        if info is None or info.leader == NO_LEADER:
            self._metadata.follow([state.partition.topic])
            self._metadata.request()
            state.attempt_at_ms = now_ms() + self._config.retry_backoff_ms
            return None
        return info

    def _on_done(self, node: int, states: list[PartitionPosition]) -> None:
        self._fetching.pop(node, None)
        for state in states:
            state.is_fetching = False
        self.wake()

    async def _fetch(self, node: int, states: list[PartitionPosition], wait_ms: int) -> None:
        most = self._config.max_partition_fetch_bytes
        wanted = {state.partition: Wanted(state.fetch_offset, state.current_epoch, most) for state in states}
        session = self._sessions.setdefault(node, FetchSession())
        try:
            link = await self._connections.link(node, FETCH_PURPOSE)
            answer = await fetch(link, self._config, session, wanted, wait_ms, self._keep)
        except NETWORK_FAULTS:
            session.on_failed()
            self.postpone(states)
            self._metadata.request()
            await asyncio.sleep(self._connections.retry_in_s(node))
            return
        except KafkaError as error:
            session.on_refused(error.code)
            if error.code not in SESSION_FAULTS:
                self.postpone(states)
                if not PROPERTIES[error.code].retriable:
                    self.tell(error)
            return
        for state in states:
            brought = answer.partitions.get(state.partition)
            # A seek or a reset in the meantime makes the answer one to a question that nobody asks any more.
            asked = wanted[state.partition].fetch_offset
            if brought is not None and state.fetch_offset == asked and state.position is not None:
                self._take_in(state, brought)

    def postpone(self, states: list[PartitionPosition]) -> None:
        """Leave partitions alone for a while."""
        for state in states:
            state.read_replica = -1
            state.attempt_at_ms = now_ms() + self._config.retry_backoff_ms

    def _take_in(self, state: PartitionPosition, answer: FetchedPartition) -> None:
        if answer.code:
            self.on_refused(state, answer)
            return
        state.high_watermark = answer.high_watermark
        state.last_stable_offset = answer.last_stable_offset
        state.log_start_offset = answer.log_start_offset
        if answer.preferred_replica >= 0:
            state.read_replica = answer.preferred_replica
        if answer.next_offset is None:
            if answer.records:
                self.tell(
                    KafkaError(
                        KafkaCode.MESSAGE_TOO_LARGE, f"{state.partition}: a batch is larger than fetch.max.bytes"
                    )
                )
            return
        fetched = FetchedRecords(
            state.partition,
            answer.records,
            state.fetch_offset,
            aborted=answer.aborted if self._reads_committed else None,
            check_crcs=self._config.check_crcs,
        )
        state.take_in(fetched, answer.next_offset, answer.last_epoch)
        if len(state.fetched) == 1:
            self._arrived.append(state)
        self.arrival.set()

    def on_refused(self, state: PartitionPosition, answer: FetchedPartition) -> None:
        """A broker does not serve a partition."""
        code = answer.code
        if code is KafkaCode.OFFSET_OUT_OF_RANGE:
            self._on_out_of_range(state)
        elif code is KafkaCode.UNKNOWN_TOPIC_OR_PARTITION or PROPERTIES[code].retriable:
            knows_new_leader = answer.leader >= 0 and self._metadata.view.learn_leader(
                *state.partition, answer.leader, answer.leader_epoch
            )
            state.read_replica = -1
            if not knows_new_leader:
                state.attempt_at_ms = now_ms() + self._config.retry_backoff_ms
                self._metadata.request()
        else:
            self.postpone([state])
            self.tell(KafkaError(code, f"{state.partition}: {PROPERTIES[code].text}"))

    def _on_out_of_range(self, state: PartitionPosition) -> None:
        if state.read_replica >= 0:
            state.read_replica = -1
            return
        if state.fetched:
            # The application still has records before that offset; it will come to it.
            state.attempt_at_ms = now_ms() + self._config.retry_backoff_ms
            return
        timestamp = RESET_TIMESTAMPS.get(self._config.auto_offset_reset)
        if timestamp is None:
            self.postpone([state])
            self.tell(
                NoOffsetError(
                    f"auto.offset.reset=none: offset {state.fetch_offset} of {state.partition} is not in the log any more"
                )
            )
            return
        _log.info("offset %d of %s is out of range; going on from %s", state.fetch_offset, state.partition, timestamp)
        state.reset(timestamp)
        self.on_reset()

    def tell(self, fault: Exception) -> None:
        """Have the next poll raise this."""
        self._fault = fault
        self.arrival.set()

    def _tick(self) -> None:
        """Partitions that were put off have no event of their own."""
        self._ticker = self._loop.call_later(_TICK_S, self._tick)
        self.wake()
