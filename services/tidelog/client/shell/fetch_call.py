"""One Fetch request: partitions and offsets in, record batches per partition out."""

from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.client.configs.consumer import ConsumerConfig
from tidelog.client.core.cluster import ClusterView
from tidelog.client.core.positions import PartitionPosition
from tidelog.client.records import TopicPartition
from tidelog.client.shell.connections import Link
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.header import HEADER_SIZE, INT32, INT64, LENGTH_OVERHEAD
from tidelog.kafka.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData

# From version 13 on topics go by id, which says no more than the name to a consumer.
_VERSION_MAX = 12
_LAST_OFFSET_DELTA_AT = 23
ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}


@dataclass(frozen=True, slots=True)
class FetchedPartition:
    """What came for one partition. `next_offset` follows the last whole batch, and is None if there is none."""

    code: KafkaCode
    records: bytes = b""
    next_offset: int | None = None
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: tuple[tuple[int, int], ...] = ()
    preferred_replica: int = -1
    leader: int = -1
    leader_epoch: int = -1


async def fetch(
    link: Link, config: ConsumerConfig, view: ClusterView, states: Iterable[PartitionPosition]
) -> dict[TopicPartition, FetchedPartition]:
    """Ask one broker for what follows the fetch offsets of partitions."""
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
    request = FetchRequest(
        max_wait_ms=config.fetch_max_wait_ms,
        min_bytes=config.fetch_min_bytes,
        max_bytes=config.fetch_max_bytes,
        isolation_level=ISOLATION_LEVELS[config.isolation_level],
        topics=[FetchTopic(topic=name, partitions=parts) for name, parts in topics.items()],
        rack_id=config.client_rack,
    )
    timeout_ms = config.request_timeout_ms + config.fetch_max_wait_ms
    return _read(await link.call(request, at_most=_VERSION_MAX, timeout_ms=timeout_ms))


def _read(response: FetchResponse) -> dict[TopicPartition, FetchedPartition]:
    if response.error_code:
        raise KafkaError(KafkaCode(response.error_code))
    return {
        TopicPartition(topic.topic, each.partition_index): _partition(each)
        for topic in response.responses
        for each in topic.partitions
    }


def _partition(told: PartitionData) -> FetchedPartition:
    hint = told.current_leader
    if told.error_code:
        return FetchedPartition(
            KafkaCode(told.error_code),
            leader=-1 if hint is None else hint.leader_id,
            leader_epoch=-1 if hint is None else hint.leader_epoch,
        )
    records = told.records or b""
    return FetchedPartition(
        KafkaCode.NONE,
        records,
        next_offset_of(records),
        told.high_watermark,
        told.last_stable_offset,
        told.log_start_offset,
        tuple((each.first_offset, each.producer_id) for each in told.aborted_transactions or ()),
        told.preferred_read_replica,
    )


def next_offset_of(records: bytes) -> int | None:
    """The offset after the last whole batch, found by going from length to length."""
    at, end, found = 0, len(records), None
    while end - at >= HEADER_SIZE:
        size: int = INT32.unpack_from(records, at + 8)[0] + LENGTH_OVERHEAD
        if size < HEADER_SIZE or size > end - at:
            # Old message formats are shorter than a header; the reader tells what is wrong with them.
            break
        found = INT64.unpack_from(records, at)[0] + INT32.unpack_from(records, at + _LAST_OFFSET_DELTA_AT)[0] + 1
        at += size
    return found
