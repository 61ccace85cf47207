"""One Fetch request: partitions and offsets in, record batches per partition out."""

import asyncio
from collections.abc import Iterable, Mapping

from tidelog.client.configs.consumer import ConsumerConfig
from tidelog.client.core.fetch_response import FetchAnswer, Keep, read_fetch_response
from tidelog.client.core.fetch_session import FetchQuestion, FetchSession, Wanted, without_session
from tidelog.client.records import TopicPartition
from tidelog.client.shell.connections import Link
from tidelog.kafka.wire.headers import encode_request, response_body_at
from tidelog.kafka.wire.messages.fetch import FETCH, FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

# From version 13 on topics go by id, which says no more than the name to a consumer.
_VERSION_MAX = 12
_FIRST_WITH_SESSIONS = 7
ISOLATION_LEVELS = {"read_uncommitted": 0, "read_committed": 1}


async def fetch(
    link: Link,
    config: ConsumerConfig,
    session: FetchSession,
    wanted: Mapping[TopicPartition, Wanted],
    wait_ms: int,
    keep: Keep,
) -> FetchAnswer:
    """Ask one broker for what follows the fetch offsets of partitions."""
    version = link.version(FETCH, _VERSION_MAX)
    question = session.ask(wanted) if version >= _FIRST_WITH_SESSIONS else without_session(wanted)
    connection = link.connection
    correlation_id = connection.next_correlation_id()
    frame = encode_request(_request(config, question, wait_ms), version, correlation_id, connection.client_id)

    def read(answer: memoryview) -> FetchAnswer:
        return read_fetch_response(answer, response_body_at(answer, FETCH, version), version, keep)

    try:
        async with asyncio.timeout((config.request_timeout_ms + wait_ms) / 1000):
            answer = await connection.exchange(correlation_id, read, frame)
    except TimeoutError:
        connection.close()
        raise
    session.on_answer(answer.session_id, answer.partitions)
    return answer


def close_session(link: Link, config: ConsumerConfig, session: FetchSession) -> None:
    """Let the broker forget the session now, rather than when it needs the room. Nobody waits for its answer."""
    connection = link.connection
    correlation_id = connection.next_correlation_id()
    version = link.version(FETCH, _VERSION_MAX)
    request = _request(config, session.close(), 0)
    connection.post(
        correlation_id,
        lambda _: None,
        encode_request(request, version, correlation_id, connection.client_id),
    )


def _request(config: ConsumerConfig, question: FetchQuestion, wait_ms: int) -> FetchRequest:
    topics: dict[str, list[FetchPartition]] = {}
    for partition, wanted in question.partitions.items():
        topics.setdefault(partition.topic, []).append(
            FetchPartition(
                partition=partition.partition,
                current_leader_epoch=wanted.leader_epoch,
                fetch_offset=wanted.fetch_offset,
                partition_max_bytes=wanted.max_bytes,
            )
        )
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=config.fetch_min_bytes,
        max_bytes=config.fetch_max_bytes,
        isolation_level=ISOLATION_LEVELS[config.isolation_level],
        session_id=question.session_id,
        session_epoch=question.session_epoch,
        topics=[FetchTopic(topic=name, partitions=parts) for name, parts in topics.items()],
        forgotten_topics_data=_forgotten(question.forgotten),
        rack_id=config.client_rack,
    )


def _forgotten(partitions: Iterable[TopicPartition]) -> list[ForgottenTopic]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return [ForgottenTopic(topic=name, partitions=numbers) for name, numbers in topics.items()]
