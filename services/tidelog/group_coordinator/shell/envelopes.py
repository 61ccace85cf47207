"""Clients' requests as brokers pass them on: taken out of their envelopes, brought to a desk, and answered in envelopes."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tidelog.kafka.coordination.envelopes import encode_enveloped, read_envelope
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.headers import encode_response, peek_request, read_client_id
from tidelog.kafka.wire.messages.add_offsets_to_txn import ADD_OFFSETS_TO_TXN
from tidelog.kafka.wire.messages.add_partitions_to_txn import ADD_PARTITIONS_TO_TXN
from tidelog.kafka.wire.messages.delete_groups import DELETE_GROUPS
from tidelog.kafka.wire.messages.describe_groups import DESCRIBE_GROUPS
from tidelog.kafka.wire.messages.describe_transactions import DESCRIBE_TRANSACTIONS
from tidelog.kafka.wire.messages.end_txn import END_TXN
from tidelog.kafka.wire.messages.envelope import ENVELOPE, EnvelopeResponse
from tidelog.kafka.wire.messages.heartbeat import HEARTBEAT
from tidelog.kafka.wire.messages.init_producer_id import INIT_PRODUCER_ID
from tidelog.kafka.wire.messages.join_group import JOIN_GROUP
from tidelog.kafka.wire.messages.leave_group import LEAVE_GROUP
from tidelog.kafka.wire.messages.list_groups import LIST_GROUPS
from tidelog.kafka.wire.messages.list_transactions import LIST_TRANSACTIONS
from tidelog.kafka.wire.messages.offset_commit import OFFSET_COMMIT
from tidelog.kafka.wire.messages.offset_delete import OFFSET_DELETE
from tidelog.kafka.wire.messages.offset_fetch import OFFSET_FETCH
from tidelog.kafka.wire.messages.sync_group import SYNC_GROUP
from tidelog.kafka.wire.messages.txn_offset_commit import TXN_OFFSET_COMMIT
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.error_codes import error_codes
from tidelog.net.served import ServedFrames
from tidelog.runtime import logs

if TYPE_CHECKING:
    from tidelog.group_coordinator.shell.group_content import Answer
    from tidelog.group_coordinator.shell.group_desk import GroupDesk
    from tidelog.group_coordinator.shell.transaction_desk import TransactionDesk
    from tidelog.kafka.coordination.transaction_answers import TransactionRequest
    from tidelog.kafka.wire.schema import Api, Request, Response
    from tidelog.net.served import RequestContext

_GROUP_APIS = (
    OFFSET_COMMIT, OFFSET_FETCH, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, DESCRIBE_GROUPS, LIST_GROUPS,
    TXN_OFFSET_COMMIT, DELETE_GROUPS, OFFSET_DELETE,
)  # fmt: skip
_TRANSACTION_APIS = (
    INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS,
)  # fmt: skip
_APIS: dict[int, Api] = {api.key: api for api in (*_GROUP_APIS, *_TRANSACTION_APIS)}
_GROUP_KEYS = frozenset(api.key for api in _GROUP_APIS)
# In front of every frame.
_LENGTH_BYTES = 4
_HOSTS_KEPT = 4096
_NO_BROKER = -1

_logger = logs.get("envelopes")


class Sender(NamedTuple):
    """The client that a request comes from, and the broker that passed it on."""

    version: int
    client_id: str | None
    # As Kafka shows it: with a slash in front.
    client_host: str
    broker_id: int


class _Asked(NamedTuple):
    request: Request[Any]
    correlation_id: int
    is_about_groups: bool
    sender: Sender


class Envelopes:
    def __init__(self, groups: GroupDesk, transactions: TransactionDesk) -> None:
        self._groups = groups
        self._transactions = transactions

    def served(self) -> ServedFrames:
        return ServedFrames(ENVELOPE, parse_versions("0"), self._serve)

    def _serve(self, context: RequestContext, frame: memoryview, at: int) -> None:
        start, end, client_host = read_envelope(frame, at)
        try:
            asked = _opened(frame[start:end], client_host, _broker_id(context.client_id))
        except MalformedMessage as error:
            _logger.info("request refused", reason=str(error), broker=context.client_id)
            refusal = EnvelopeResponse(error_code=KafkaCode.INVALID_REQUEST)
            context.connection.reply(encode_response(refusal, 0, context.correlation_id))
            return
        # Counted by what is in the envelope.
        context.counts = context.counts.kind(asked.request.api.name)
        answer = _answer_to(context, asked)
        if asked.is_about_groups:
            self._groups.serve(asked.request, asked.sender, answer)
        else:
            self._transactions.serve(cast("TransactionRequest", asked.request), asked.sender, answer)


def _opened(frame: memoryview, client_host: bytes, broker_id: int) -> _Asked:
    key, version, correlation_id = peek_request(frame)
    api = _APIS.get(key)
    if api is None or version not in api.versions:
        raise MalformedMessage(f"API key {key} version {version} is not served by coordinators")
    client_id, body_at = read_client_id(frame, flexible=version in api.flexible)
    request: Request[Any] = api.request.decode(version, frame, body_at)
    sender = Sender(version, client_id, _host_text(client_host), broker_id)
    return _Asked(request, correlation_id, key in _GROUP_KEYS, sender)


def _answer_to(context: RequestContext, asked: _Asked) -> Answer:
    slot, envelope_id = context.connection.defer(), context.correlation_id
    correlation_id, version = asked.correlation_id, asked.sender.version

    def answer(response: Response) -> None:
        for code in error_codes(response):
            context.counts.errors[code] += 1
        frame = memoryview(encode_response(response, version, correlation_id))
        slot.fill(encode_enveloped(frame[_LENGTH_BYTES:], envelope_id))

    return answer


def _broker_id(client_id: str | None) -> int:
    return int(client_id) if client_id is not None and client_id.isdecimal() else _NO_BROKER


@lru_cache(_HOSTS_KEPT)
def _host_text(address: bytes) -> str:
    try:
        return f"/{ip_address(address)}"
    except ValueError:
        return "/unknown"
