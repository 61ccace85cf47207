"""The answers to requests about transactions, in the error codes that the version of a request knows."""

from collections.abc import Iterable, Mapping

from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition
from tidelog.kafka.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from tidelog.kafka.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from tidelog.kafka.wire.messages.describe_transactions import (
    DescribedTransaction,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from tidelog.kafka.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from tidelog.kafka.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tidelog.kafka.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

TransactionRequest = (
    InitProducerIdRequest
    | AddPartitionsToTxnRequest
    | AddOffsetsToTxnRequest
    | EndTxnRequest
    | DescribeTransactionsRequest
    | ListTransactionsRequest
)
TransactionResponse = (
    InitProducerIdResponse
    | AddPartitionsToTxnResponse
    | AddOffsetsToTxnResponse
    | EndTxnResponse
    | DescribeTransactionsResponse
    | ListTransactionsResponse
)

# Error 90 came with these versions. Producers before them only know 47, which told the same.
_INIT_KNOWS_FENCED = 4
_OTHERS_KNOW_FENCED = 2
_NONE = -1


def refusal(request: TransactionRequest, version: int, code: KafkaCode) -> TransactionResponse:
    """The answer to a request that is refused as a whole."""
    match request:
        case InitProducerIdRequest():
            return init_refused(version, code)
        case AddPartitionsToTxnRequest():
            return partitions_answered(request, version, dict.fromkeys(partitions_of(request), code))
        case AddOffsetsToTxnRequest():
            return offsets_answered(version, code)
        case EndTxnRequest():
            return end_answered(version, code)
        case DescribeTransactionsRequest():
            return DescribeTransactionsResponse(
                transaction_states=[not_described(name, code) for name in request.transactional_ids]
            )
        case ListTransactionsRequest():
            return ListTransactionsResponse(error_code=code)


def init_granted(producer_id: int, producer_epoch: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=producer_epoch)


def init_refused(version: int, code: KafkaCode) -> InitProducerIdResponse:
    told = _told(code, knows_fenced=version >= _INIT_KNOWS_FENCED)
    return InitProducerIdResponse(error_code=told, producer_id=_NONE, producer_epoch=_NONE)


def partitions_answered(
    request: AddPartitionsToTxnRequest, version: int, codes: Mapping[TopicPartition, KafkaCode]
) -> AddPartitionsToTxnResponse:
    """One code a partition, in the order they were asked for."""

    def result(topic: str, index: int) -> AddPartitionsToTxnPartitionResult:
        code = codes[TopicPartition(TopicName(topic), PartitionIndex(index))]
        told = _told(code, knows_fenced=version >= _OTHERS_KNOW_FENCED)
        return AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=told)

    return AddPartitionsToTxnResponse(
        results_by_topic=[
            AddPartitionsToTxnTopicResult(
                name=topic.name, results_by_partition=[result(topic.name, index) for index in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def not_attempted(
    partitions: Iterable[TopicPartition], faults: Mapping[TopicPartition, KafkaCode]
) -> Mapping[TopicPartition, KafkaCode]:
    """Each faulty partition has its own code, and because of them the others were not tried."""
    return {partition: faults.get(partition, KafkaCode.OPERATION_NOT_ATTEMPTED) for partition in partitions}


def offsets_answered(version: int, code: KafkaCode = KafkaCode.NONE) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=_told(code, knows_fenced=version >= _OTHERS_KNOW_FENCED))


def end_answered(version: int, code: KafkaCode = KafkaCode.NONE) -> EndTxnResponse:
    return EndTxnResponse(error_code=_told(code, knows_fenced=version >= _OTHERS_KNOW_FENCED))


def not_described(transactional_id: str, code: KafkaCode) -> DescribedTransaction:
    """The answer for one id that is not known, or whose shard is not served here."""
    return DescribedTransaction(error_code=code, transactional_id=transactional_id)


def partitions_of(request: AddPartitionsToTxnRequest) -> list[TopicPartition]:
    return [
        TopicPartition(TopicName(topic.name), PartitionIndex(index))
        for topic in request.topics
        for index in topic.partitions
    ]


def _told(code: KafkaCode, *, knows_fenced: bool) -> KafkaCode:
    is_unknown = code is KafkaCode.PRODUCER_FENCED and not knows_fenced
    return KafkaCode.INVALID_PRODUCER_EPOCH if is_unknown else code
