"""DescribeTransactions (65): state and partitions of transactions."""

from tidelog.kafka.wire.fields import array, int16, int32, int64, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

DESCRIBE_TRANSACTIONS = Api(65, "DescribeTransactions", versions="0", flexible="0+")


class DescribeTransactionsRequest(Request["DescribeTransactionsResponse"], api=DESCRIBE_TRANSACTIONS):
    transactional_ids: list[str] = array(string)


class TransactionTopic(Struct):
    topic: str = string()
    partitions: list[int] = array(int32)


class DescribedTransaction(Struct):
    error_code: int = int16()
    transactional_id: str = string()
    transaction_state: str = string()
    transaction_timeout_ms: int = int32()
    transaction_start_time_ms: int = int64()
    producer_id: int = int64()
    producer_epoch: int = int16()
    topics: list[TransactionTopic] = array(TransactionTopic)


class DescribeTransactionsResponse(Response, api=DESCRIBE_TRANSACTIONS):
    throttle_time_ms: int = int32()
    transaction_states: list[DescribedTransaction] = array(DescribedTransaction)
