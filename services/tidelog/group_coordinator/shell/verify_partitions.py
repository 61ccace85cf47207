"""AddPartitionsToTxn (24), served in versions 4 and 5 for those who ask whether partitions are part of a transaction.

- v4: several transactions, with the wish to verify only.  v5: the same.

The older versions come from clients, in envelopes. Here nothing is added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition
from tidelog.kafka.wire.messages.add_partitions_to_txn import (
    ADD_PARTITIONS_TO_TXN,
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedApi

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidelog.group_coordinator.shell.transaction_desk import TransactionDesk
    from tidelog.kafka.wire.messages.add_partitions_to_txn import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnTransaction,
    )
    from tidelog.net.served import RequestContext


def served(desk: TransactionDesk) -> ServedApi:
    def answer(context: RequestContext, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:  # noqa: ARG001
        return AddPartitionsToTxnResponse(results_by_transaction=[_result(desk, each) for each in request.transactions])

    return ServedApi(ADD_PARTITIONS_TO_TXN, parse_versions("4-5"), answer)


def _result(desk: TransactionDesk, asked: AddPartitionsToTxnTransaction) -> AddPartitionsToTxnResult:
    codes = _codes(desk, asked)
    return AddPartitionsToTxnResult(
        transactional_id=asked.transactional_id,
        topic_results=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(
                        partition_index=index, partition_error_code=codes[_partition(topic.name, index)]
                    )
                    for index in topic.partitions
                ],
            )
            for topic in asked.topics
        ],
    )


def _codes(desk: TransactionDesk, asked: AddPartitionsToTxnTransaction) -> Mapping[TopicPartition, KafkaCode]:
    partitions = [_partition(topic.name, index) for topic in asked.topics for index in topic.partitions]
    if not asked.verify_only:
        return dict.fromkeys(partitions, KafkaCode.INVALID_REQUEST)
    try:
        return desk.verify(asked.transactional_id, asked.producer_id, asked.producer_epoch, partitions)
    except KafkaError as refused:
        return dict.fromkeys(partitions, refused.code)


def _partition(topic: str, index: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionIndex(index))
