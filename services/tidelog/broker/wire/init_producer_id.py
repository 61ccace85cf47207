"""InitProducerId (22), served in versions 0 to 5 for producers without a transactional id.

- v0: a producer id and its epoch.  v1: throttle time first.  v2: flexible.
- v3: a producer may tell the id and epoch that it has.  v4: error 90.  v5: the same.

A producer without a transactional id gets a fresh id and epoch 0 each time, and nothing is remembered of it here. With a
transactional id it is the coordinator's business, and error 15 says that there is none yet.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.wire.served import RequestContext, ServedApi
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.init_producer_id import (
    INIT_PRODUCER_ID,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from tidelog.kafka.wire.versions import parse_versions

if TYPE_CHECKING:
    from collections.abc import Callable

    NextId = Callable[[], int]

_NONE = -1


def served(next_id: NextId) -> ServedApi:
    return ServedApi(INIT_PRODUCER_ID, parse_versions("0-5"), partial(_answer, next_id))


def _answer(
    next_id: NextId,
    context: RequestContext,  # noqa: ARG001  versions differ in nothing but their fields
    request: InitProducerIdRequest,
) -> InitProducerIdResponse:
    try:
        _check(request)
        return InitProducerIdResponse(producer_id=next_id(), producer_epoch=0)
    except KafkaError as refusal:
        return InitProducerIdResponse(error_code=refusal.code, producer_epoch=_NONE)


def _check(request: InitProducerIdRequest) -> None:
    if request.transactional_id == "" or (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        raise KafkaError(KafkaCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        raise KafkaError(KafkaCode.COORDINATOR_NOT_AVAILABLE)
