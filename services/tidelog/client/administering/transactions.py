"""Transactions, and those that hang."""

import asyncio
from collections.abc import Iterable

from tidelog.client.administering.asking import AdminClient, raise_first
from tidelog.client.administering.values import ActiveProducer, TransactionDescription, TransactionListing
from tidelog.client.records import TopicPartition
from tidelog.client.shell.coordinators import KeyType
from tidelog.kafka.wire.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.kafka.wire.messages.list_transactions import ListTransactionsRequest
from tidelog.kafka.wire.messages.write_txn_markers import TxnMarker, TxnMarkerTopic, WriteTxnMarkersRequest


class TransactionAdmin(AdminClient):
    """Lists, describes and, as a last resort, aborts."""

    async def list_transactions(
        self, *, states: Iterable[str] = (), producer_ids: Iterable[int] = (), timeout_ms: int | None = None
    ) -> list[TransactionListing]:
        """The transactions of all coordinators, or those in some states such as "Ongoing", or of some producers."""
        request = ListTransactionsRequest(state_filters=list(states), producer_id_filters=list(producer_ids))
        answers = await asyncio.gather(
            *(
                self._ask_broker(broker_id, request, timeout_ms, lambda answer: answer.error_code)
                for broker_id in self.metadata.view.nodes
            )
        )
        found = {
            each.transactional_id: TransactionListing(each.transactional_id, each.producer_id, each.transaction_state)
            for answer in answers
            for each in answer.transaction_states
        }
        return [found[transactional_id] for transactional_id in sorted(found)]

    async def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout_ms: int | None = None
    ) -> dict[str, TransactionDescription]:
        """What coordinators know of transactional ids."""
        found = {}
        for transactional_id in transactional_ids:
            answer = await self._ask_coordinator(
                transactional_id,
                DescribeTransactionsRequest(transactional_ids=[transactional_id]),
                lambda answer: answer.transaction_states[0].error_code,
                timeout_ms,
                key_type=KeyType.TRANSACTION,
            )
            told = answer.transaction_states[0]
            found[transactional_id] = TransactionDescription(
                told.transactional_id,
                told.transaction_state,
                told.producer_id,
                told.producer_epoch,
                told.transaction_timeout_ms,
                told.transaction_start_time_ms,
                tuple(TopicPartition(topic.topic, number) for topic in told.topics for number in topic.partitions),
            )
        return found

    async def abort_transaction(
        self, partition: TopicPartition, producer: ActiveProducer, *, timeout_ms: int | None = None
    ) -> None:
        """Write an abort marker for a transaction that no coordinator knows any more (see `describe_producers`)."""
        leaders = await self._leaders_of([partition], timeout_ms)
        marker = TxnMarker(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            transaction_result=False,
            topics=[TxnMarkerTopic(name=partition.topic, partition_indexes=[partition.partition])],
            coordinator_epoch=max(producer.coordinator_epoch, 0),
        )
        for leader in leaders:
            answer = await self._ask_broker(leader, WriteTxnMarkersRequest(markers=[marker]), timeout_ms)
            raise_first(
                (str(partition), each.error_code, None)
                for result in answer.markers
                for topic in result.topics
                for each in topic.partitions
            )
