"""One Fetch request of a task: a partition and an offset in, record batches as bytes out."""

from collections import deque
from dataclasses import dataclass

from pyspark_tidelog.session import Session
from tidelog.client.configs.consumer import ConsumerConfig
from tidelog.client.core.cluster import NO_LEADER
from tidelog.client.records import TopicPartition
from tidelog.client.shell.fetch_call import ISOLATION_LEVELS
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.header import whole_batches
from tidelog.kafka.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData

# From version 13 on topics go by id, and a reader knows them by name.
_VERSION_MAX = 12


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a broker answered. `next_offset` follows the last whole batch, and is None if there is none."""

    is_out_of_range: bool = False
    records: bytes | memoryview = b""
    next_offset: int | None = None
    aborted: tuple[tuple[int, int], ...] = ()


async def fetch(
    session: Session, partition: TopicPartition, offset: int, timeout_ms: int, bytes_max: int | None = None
) -> Fetched:
    """Ask the leader, whoever that is by now, for what follows an offset."""
    client = session.client
    client.metadata.follow([partition.topic])

    async def attempt() -> Fetched:
        leader = client.metadata.view.leader(*partition)
        if leader == NO_LEADER:
            raise KafkaError(KafkaCode.LEADER_NOT_AVAILABLE, f"{partition} has no known leader")
        link = await client.connections.link(leader, "fetch")
        config = client.config
        wait_ms = config.request_timeout_ms + config.fetch_max_wait_ms
        answer = await link.call(
            _request(config, partition, offset, bytes_max), at_most=_VERSION_MAX, timeout_ms=wait_ms
        )
        if answer.error_code:
            raise KafkaError(KafkaCode(answer.error_code))
        return _read(answer.responses[0].partitions[0], partition, offset)

    return await client.insist(attempt, timeout_ms)


def _request(config: ConsumerConfig, partition: TopicPartition, offset: int, bytes_max: int | None) -> FetchRequest:
    most = config.max_partition_fetch_bytes if bytes_max is None else min(bytes_max, config.max_partition_fetch_bytes)
    wanted = FetchPartition(partition=partition.partition, fetch_offset=offset, partition_max_bytes=most)
    return FetchRequest(
        max_wait_ms=config.fetch_max_wait_ms,
        min_bytes=config.fetch_min_bytes,
        max_bytes=config.fetch_max_bytes,
        isolation_level=ISOLATION_LEVELS[config.isolation_level],
        topics=[FetchTopic(topic=partition.topic, partitions=[wanted])],
        rack_id=config.client_rack,
    )


def _read(told: PartitionData, partition: TopicPartition, offset: int) -> Fetched:
    code = KafkaCode(told.error_code)
    if code is KafkaCode.OFFSET_OUT_OF_RANGE:
        return Fetched(is_out_of_range=True)
    if code:
        raise KafkaError(code, f"{partition}: a fetch at offset {offset} was refused with {code.name}")
    records = told.records or b""
    ends = deque((header.next_offset for _, header in whole_batches(records)), maxlen=1)
    return Fetched(
        records=records,
        next_offset=ends[0] if ends else None,
        aborted=tuple((each.first_offset, each.producer_id) for each in told.aborted_transactions or ()),
    )
