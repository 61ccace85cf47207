"""Requests about transactions: brought to the shard that holds the transactional id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.group_coordinator.core.transactions.metadata import ProducerIdAndEpoch
from tidelog.group_coordinator.core.transactions.shard import list_transactions
from tidelog.kafka.cluster import TRANSACTION_STATE
from tidelog.kafka.coordination.sharding import shard_of
from tidelog.kafka.coordination.transaction_answers import not_described, refusal
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.describe_transactions import (
    DescribedTransaction,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from tidelog.kafka.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tidelog.group_coordinator.shell.envelopes import Sender
    from tidelog.group_coordinator.shell.group_content import Answer
    from tidelog.group_coordinator.shell.shards import Shards
    from tidelog.group_coordinator.shell.transaction_content import TransactionContent
    from tidelog.kafka.cluster import ClusterView
    from tidelog.kafka.coordination.transaction_answers import TransactionRequest
    from tidelog.kafka.types import TopicPartition
    from tidelog.runtime.clock import Clock


class TransactionDesk:
    def __init__(
        self,
        shards: Shards,
        view: ClusterView,
        clock: Clock,
        is_in_doubt: Callable[[], bool],
        *,
        state_partitions: int,
    ) -> None:
        """`is_in_doubt` tells whether somebody else may own the shards by now."""
        self._shards = shards
        self._view = view
        self._clock = clock
        self._is_in_doubt = is_in_doubt
        self._state_partitions = state_partitions

    def shard_of(self, transactional_id: str) -> int:
        topic = self._view.topics.get(TRANSACTION_STATE)
        return shard_of(transactional_id, len(topic.partitions) if topic else self._state_partitions)

    def serve(self, request: TransactionRequest, sender: Sender, answer: Answer) -> None:
        """`answer` is called once, now or later."""
        try:
            if isinstance(request, DescribeTransactionsRequest):
                described = [self._described(name) for name in request.transactional_ids]
                answer(DescribeTransactionsResponse(transaction_states=described))
            elif isinstance(request, ListTransactionsRequest):
                answer(self._listed(request, sender.broker_id))
            else:
                content = self._content(request.transactional_id or "")
                content.handle(request, sender.version, answer)
        except KafkaError as refused:
            answer(refusal(request, sender.version, refused.code))

    def verify(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, KafkaCode]:
        """Whether these take part in the producer's transaction. Raises KafkaError with the code for all of them."""
        producer = ProducerIdAndEpoch.told(producer_id, producer_epoch)
        return self._content(transactional_id).core.verify(transactional_id, producer, partitions)

    def _content(self, transactional_id: str) -> TransactionContent:
        if not transactional_id:
            raise KafkaError(KafkaCode.INVALID_REQUEST)
        if self._is_in_doubt():
            raise KafkaError(KafkaCode.COORDINATOR_NOT_AVAILABLE)
        shard = self._shards.transactions.get(self.shard_of(transactional_id))
        if shard is None:
            raise KafkaError(KafkaCode.NOT_COORDINATOR)
        if shard.content is None:
            raise KafkaError(KafkaCode.COORDINATOR_LOAD_IN_PROGRESS)
        return shard.content

    def _described(self, transactional_id: str) -> DescribedTransaction:
        try:
            return self._content(transactional_id).core.describe(transactional_id)
        except KafkaError as refused:
            return not_described(transactional_id, refused.code)

    def _listed(self, request: ListTransactionsRequest, broker_id: int) -> ListTransactionsResponse:
        """Those of the shards that the asking broker leads: its clients ask the other brokers as well."""
        here = [shard for shard in self._shards.transactions.values() if shard.log.leader == broker_id]
        contents = [shard.content for shard in here if shard.content is not None]
        if self._is_in_doubt() or len(contents) < len(here):
            raise KafkaError(KafkaCode.COORDINATOR_LOAD_IN_PROGRESS)
        return list_transactions((content.core for content in contents), request, self._clock.now_ms())
