"""WriteTxnMarkers (27), served in versions 0 and 1.

- v0: the end of transactions, for partitions that this broker leads.  v1: flexible.

Coordinators send it, and wait until the markers are committed. The partitions of internal topics are refused with error 6:
their markers are written by the owners of the shards.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.shell.producing import ALL_IN_SYNC
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType, encode_marker
from tidelog.kafka.wire.messages.write_txn_markers import (
    WRITE_TXN_MARKERS,
    TxnMarker,
    TxnMarkerPartitionResult,
    TxnMarkerResult,
    TxnMarkerTopic,
    TxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidelog.broker.shell.producing import Producing, Production
    from tidelog.broker.wire.hot_produce import Produced


def served(producing: Producing, request_timeout_ms: int) -> ServedApi:
    return ServedApi(WRITE_TXN_MARKERS, parse_versions("0-1"), partial(_answer, producing, request_timeout_ms))


async def _answer(
    producing: Producing, timeout_ms: int, context: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    production = producing.begin(ALL_IN_SYNC, context.client_id)
    for marker in request.markers:
        _append(producing, production, marker)
    answers = production.answers
    if production.awaited is not None:
        outcome: asyncio.Future[list[Produced]] = asyncio.get_running_loop().create_future()
        producing.wait(production, timeout_ms, outcome.set_result)
        answers = await outcome
    in_order = iter(answers)
    return WriteTxnMarkersResponse(markers=[_result(marker, in_order) for marker in request.markers])


def _append(producing: Producing, production: Production, marker: TxnMarker) -> None:
    end = EndTransactionMarker(
        MarkerType.COMMIT if marker.transaction_result else MarkerType.ABORT, marker.coordinator_epoch
    )
    for topic in marker.topics:
        for index in topic.partition_indexes:
            batch = encode_marker(
                end,
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
                timestamp=production.now_ms,
            )
            name = topic.name.encode("utf-8", "replace")
            producing.append_marker(production, name, index, marker.producer_id, memoryview(batch))


def _result(marker: TxnMarker, answers: Iterator[Produced]) -> TxnMarkerResult:
    return TxnMarkerResult(
        producer_id=marker.producer_id, topics=[_topic_result(topic, answers) for topic in marker.topics]
    )


def _topic_result(topic: TxnMarkerTopic, answers: Iterator[Produced]) -> TxnMarkerTopicResult:
    """Answers come in the order in which the markers were appended, which is the one of the request."""
    return TxnMarkerTopicResult(
        name=topic.name,
        partitions=[
            TxnMarkerPartitionResult(partition_index=index, error_code=next(answers).error_code)
            for index in topic.partition_indexes
        ],
    )
