"""ListTransactions (66): the transactions of a coordinator."""

from tidelog.kafka.wire.fields import array, int16, int32, int64, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

LIST_TRANSACTIONS = Api(66, "ListTransactions", versions="0-1", flexible="0+")


class ListTransactionsRequest(Request["ListTransactionsResponse"], api=LIST_TRANSACTIONS):
    state_filters: list[str] = array(string)
    producer_id_filters: list[int] = array(int64)
    duration_filter: int = int64("1+", default=-1)


class ListedTransaction(Struct):
    transactional_id: str = string()
    producer_id: int = int64()
    transaction_state: str = string()


class ListTransactionsResponse(Response, api=LIST_TRANSACTIONS):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    unknown_state_filters: list[str] = array(string)
    transaction_states: list[ListedTransaction] = array(ListedTransaction)
