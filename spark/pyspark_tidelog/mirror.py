"""How far a query is, told to a consumer group, so that its lag is seen where all lags are. Spark's checkpoint decides."""

import logging
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark_tidelog.session import session_for
from tidelog.client.errors import ClientError
from tidelog.client.records import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from tidelog.client.shell.coordinators import Coordinator, KeyType
from tidelog.client.shell.group_calls import commit_request
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.wire.messages.offset_commit import OffsetCommitResponse

if TYPE_CHECKING:
    from concurrent.futures import Future

_log = logging.getLogger(__name__)
# A query must not wait long for what only people look at.
_TIMEOUT_MS = 5000
# Nor is it told more often than this while batches follow one another; the last one is always told.
_INTERVAL_S = 1.0


class GroupMirror:
    """Commits the offsets of finished batches for a group that has no members."""

    def __init__(self, group_id: str, settings: Mapping[str, str]) -> None:
        self._group_id = group_id
        self._settings = settings
        self._told: Mapping[TopicPartition, int] = {}
        self._coordinator: Coordinator | None = None
        self._under_way: Future[Any] | None = None
        self._told_at = float("-inf")

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Tell the group unless it knows; the query goes on meanwhile. Never raises: the next batch commits again."""
        if time.monotonic() - self._told_at >= _INTERVAL_S and (self._under_way is None or self._under_way.done()):
            self._begin(offsets)

    def settle(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Tell the group, and wait until it knows."""
        self._wait()
        self._begin(offsets)
        self._wait()

    def _begin(self, offsets: Mapping[TopicPartition, int]) -> None:
        if offsets == self._told:
            return
        self._told = dict(offsets)
        self._told_at = time.monotonic()
        session = session_for(self._settings)
        if self._coordinator is None:
            self._coordinator = Coordinator(session.client, self._group_id, KeyType.GROUP)
        self._under_way = session.begin(self._tell(self._coordinator, self._told))

    def _wait(self) -> None:
        if self._under_way is not None:
            self._under_way.result()

    async def _tell(self, coordinator: Coordinator, offsets: Mapping[TopicPartition, int]) -> None:
        try:
            wanted = {each: OffsetAndMetadata(offset) for each, offset in offsets.items()}
            request = commit_request(ConsumerGroupMetadata(self._group_id), wanted)
            await coordinator.call(lambda: request, _worst, timeout_ms=_TIMEOUT_MS)
        except (KafkaError, ClientError) as error:
            _log.warning("group %s was not told of the offsets of the last batch: %s", self._group_id, error)
            self._told = {}


def _worst(answer: OffsetCommitResponse) -> int:
    return next((each.error_code for topic in answer.topics for each in topic.partitions if each.error_code), 0)
