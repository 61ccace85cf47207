"""The log of one shard, as its coordinator sees it: a partition that some broker leads.

An append has one of three outcomes. It is committed; it is refused, and then it is certain that it is not in the log;
or it is in doubt. Whoever has an append in doubt knows nothing about the log's end any more, and has to take the shard
over anew.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from tidelog.group_coordinator.shell.peers import UnreachableError
from tidelog.kafka.cluster import NO_LEADER, Role
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.kafka.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.kafka.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.net.connection import ConnectionLostError

if TYPE_CHECKING:
    from tidelog.group_coordinator.shell.peers import Peers
    from tidelog.kafka.types import TopicPartition
    from tidelog.net.connection import Connection
    from tidelog.runtime.cluster_mirror import ClusterMirror

_PRODUCE_VERSION = 9
# The last version of Fetch that names topics by their names.
_FETCH_VERSION = 12
_LIST_OFFSETS_VERSION = 5
_ALL_IN_SYNC = -1
_EARLIEST_TIMESTAMP = -2
_FETCH_WAIT_MS = 500
# How often a leader is looked for again while nobody tells of one.
_LOOK_AGAIN_S = 0.05

# Codes after which a batch may be in the log all the same: it was appended and then waited for its copies.
_LEAVE_DOUBT = frozenset(
    {
        KafkaCode.NOT_LEADER_OR_FOLLOWER,
        KafkaCode.REQUEST_TIMED_OUT,
        KafkaCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaCode.KAFKA_STORAGE_ERROR,
    }
)


class InDoubtError(Exception):
    """Whether the records are in the log, or will come into it, is not known."""


class Appended(NamedTuple):
    """NONE and the first offset, or the code of the refusal."""

    code: KafkaCode
    offset: int = -1


class Fetched(NamedTuple):
    """Whole batches from an offset on, up to the high watermark."""

    records: bytes
    log_start_offset: int


class ShardLog:
    def __init__(self, name: TopicPartition, mirror: ClusterMirror, peers: Peers, *, timeout_ms: int) -> None:
        self.name = name
        self._mirror = mirror
        self._peers = peers
        self._timeout_ms = timeout_ms

    @property
    def leader(self) -> int:
        """The broker that leads the partition; NO_LEADER if there is none, or none that is known."""
        topic = self._mirror.view.topics.get(self.name.topic)
        partition = topic.partitions.get(self.name.partition) if topic else None
        return partition.leader if partition else NO_LEADER

    async def append(self, batch: bytes | bytearray, fence: int) -> Appended:
        """Append one batch and wait until it is committed. Raises InDoubtError."""
        try:
            connection = await self._to_leader()
        except TimeoutError:
            return Appended(KafkaCode.LEADER_NOT_AVAILABLE)
        request = ProduceRequest(
            acks=_ALL_IN_SYNC,
            timeout_ms=self._timeout_ms,
            topic_data=[
                TopicProduceData(
                    name=self.name.topic,
                    partition_data=[
                        PartitionProduceData(index=self.name.partition, records=bytes(batch), coordinator_fence=fence)
                    ],
                )
            ],
        )
        try:
            answer = await connection.call(request, _PRODUCE_VERSION, timeout_s=2 * self._timeout_ms / 1000)
            partition = answer.responses[0].partition_responses[0]
        except (ConnectionLostError, TimeoutError, MalformedMessage, IndexError) as fault:
            raise InDoubtError(f"no answer from broker {self.leader}: {fault or type(fault).__name__}") from fault
        code = KafkaCode(partition.error_code)
        if code in _LEAVE_DOUBT:
            raise InDoubtError(f"{code.name} from broker {self.leader}")
        return Appended(code, partition.base_offset)

    async def start_offset(self) -> int | None:
        """The first offset that is left; None if there was no answer."""
        partition = ListOffsetsPartition(partition_index=self.name.partition, timestamp=_EARLIEST_TIMESTAMP)
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name=self.name.topic, partitions=[partition])]
        )
        try:
            connection = await self._to_leader()
            answer = await connection.call(request, _LIST_OFFSETS_VERSION, timeout_s=self._timeout_ms / 1000)
        except (ConnectionLostError, TimeoutError):
            return None
        listed = answer.topics[0].partitions[0]
        return None if listed.error_code else listed.offset

    async def fetch(self, offset: int, max_bytes: int) -> Fetched | None:
        """What is committed from this offset on; None if there was no answer, or an error in it."""
        partition = FetchPartition(partition=self.name.partition, fetch_offset=offset, partition_max_bytes=max_bytes)
        request = FetchRequest(
            max_wait_ms=_FETCH_WAIT_MS,
            min_bytes=1,
            max_bytes=max_bytes,
            topics=[FetchTopic(topic=self.name.topic, partitions=[partition])],
        )
        try:
            connection = await self._to_leader()
            answer = await connection.call(
                request, _FETCH_VERSION, timeout_s=(_FETCH_WAIT_MS + self._timeout_ms) / 1000
            )
        except (ConnectionLostError, TimeoutError):
            return None
        if answer.error_code or not answer.responses:
            return None
        fetched = answer.responses[0].partitions[0]
        return None if fetched.error_code else Fetched(fetched.records or b"", fetched.log_start_offset)

    async def _to_leader(self) -> Connection:
        """A connection to whoever leads. Raises TimeoutError if nobody does for so long."""
        async with asyncio.timeout(self._timeout_ms / 1000):
            while True:
                changed = self._mirror.next_change
                leader = self.leader
                if leader != NO_LEADER:
                    try:
                        return await self._peers.connection(Role.BROKER, leader)
                    except UnreachableError:
                        pass
                await _wait(changed)


async def _wait(changed: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(changed.wait(), _LOOK_AGAIN_S)
    except TimeoutError:
        return
