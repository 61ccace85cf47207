"""InitProducerId (22), served in versions 0 to 5.

- v0: a producer id and its epoch.  v1: throttle time first.  v2: flexible.
- v3: a producer may tell the id and epoch that it has.  v4: error 90.  v5: the same.

A producer without a transactional id gets a fresh id and epoch 0 each time, and nothing is remembered of it here. With a
transactional id it is passed on to the coordinator that owns the id's shard, as AddPartitionsToTxn is.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import ask_owner
from tidelog.kafka.cluster import TRANSACTION_STATE
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.init_producer_id import (
    INIT_PRODUCER_ID,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay
    from tidelog.net.served import Answer
    from tidelog.runtime.producer_ids import ProducerIds

_NONE = -1


def served(ids: ProducerIds, relay: Relay) -> ServedApi:
    return ServedApi(INIT_PRODUCER_ID, parse_versions("0-5"), partial(_answer, ids, relay))


def _answer(ids: ProducerIds, relay: Relay, context: RequestContext, request: InitProducerIdRequest) -> Answer:
    if request.transactional_id == "" or (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        return _refusal(KafkaCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return ask_owner(relay, TRANSACTION_STATE, request.transactional_id, context, request)
    return _granted(ids)


async def _granted(ids: ProducerIds) -> InitProducerIdResponse:
    try:
        return InitProducerIdResponse(producer_id=await ids.next_fetched(), producer_epoch=0)
    except KafkaError as refusal:
        return _refusal(refusal.code)


def _refusal(code: KafkaCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_epoch=_NONE)
