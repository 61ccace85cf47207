"""One Fetch request: partitions and offsets in, record batches per partition out."""

import asyncio
from collections.abc import Iterable

from tidelog.client.configs.consumer import ConsumerConfig
from tidelog.client.core.cluster import ClusterView
from tidelog.client.core.fetch_response import FetchedPartition, Keep, read_fetch_response
from tidelog.client.core.positions import PartitionPosition
from tidelog.client.records import TopicPartition
from tidelog.client.shell.connections import Link
from tidelog.kafka.wire.headers import encode_request, response_body_at
from tidelog.kafka.wire.messages.fetch import FETCH, FetchPartition, FetchRequest, FetchTopic

# From version 13 on topics go by id, which says no more than the name to a consumer.
_VERSION_MAX = 12
ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}


async def fetch(
    link: Link,
    config: ConsumerConfig,
    view: ClusterView,
    states: Iterable[PartitionPosition],
    wait_ms: int,
    keep: Keep,
) -> dict[TopicPartition, FetchedPartition]:
    """Ask one broker for what follows the fetch offsets of partitions."""
    version = link.version(FETCH, _VERSION_MAX)
    connection = link.connection
    correlation_id = connection.next_correlation_id()
    frame = encode_request(_request(config, view, states, wait_ms), version, correlation_id, connection.client_id)

    def read(answer: memoryview) -> dict[TopicPartition, FetchedPartition]:
        return read_fetch_response(answer, response_body_at(answer, FETCH, version), version, keep)

    try:
        async with asyncio.timeout((config.request_timeout_ms + wait_ms) / 1000):
            return await connection.exchange(correlation_id, read, frame)
    except TimeoutError:
        connection.close()
        raise


def _request(
    config: ConsumerConfig, view: ClusterView, states: Iterable[PartitionPosition], wait_ms: int
) -> FetchRequest:
    topics: dict[str, list[FetchPartition]] = {}
    for state in states:
        info = view.partition(*state.partition)
        topics.setdefault(state.partition.topic, []).append(
            FetchPartition(
                partition=state.partition.partition,
                current_leader_epoch=-1 if info is None else info.leader_epoch,
                fetch_offset=state.fetch_offset,
                partition_max_bytes=config.max_partition_fetch_bytes,
            )
        )
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=config.fetch_min_bytes,
        max_bytes=config.fetch_max_bytes,
        isolation_level=ISOLATION_LEVELS[config.isolation_level],
        topics=[FetchTopic(topic=name, partitions=parts) for name, parts in topics.items()],
        rack_id=config.client_rack,
    )
