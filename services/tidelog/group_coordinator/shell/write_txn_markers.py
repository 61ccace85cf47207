"""WriteTxnMarkers (27), served in versions 0 and 1 for partitions of __consumer_offsets.

- v0: markers of transactions, by topic and partition.  v1: flexible.

Markers of all other topics go to the leaders of their partitions. Those of a shard are written by its owner, who thereby
learns that offsets are committed or dropped; a shard that is not served here is answered with 6, and looked for again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidelog.kafka.cluster import CONSUMER_OFFSETS
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.write_txn_markers import (
    WRITE_TXN_MARKERS,
    TxnMarkerPartitionResult,
    TxnMarkerResult,
    TxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedApi

if TYPE_CHECKING:
    from tidelog.group_coordinator.shell.shards import Shards
    from tidelog.kafka.wire.messages.write_txn_markers import TxnMarker, WriteTxnMarkersRequest
    from tidelog.net.served import RequestContext


def served(shards: Shards) -> ServedApi:
    async def answer(context: RequestContext, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:  # noqa: ARG001
        results = await asyncio.gather(*(_result(shards, marker) for marker in request.markers))
        return WriteTxnMarkersResponse(markers=list(results))

    return ServedApi(WRITE_TXN_MARKERS, parse_versions("0-1"), answer)


async def _result(shards: Shards, marker: TxnMarker) -> TxnMarkerResult:
    codes = {
        (topic.name, index): _written(shards, marker, topic.name, index)
        for topic in marker.topics
        for index in topic.partition_indexes
    }
    await asyncio.gather(*codes.values())
    return TxnMarkerResult(
        producer_id=marker.producer_id,
        topics=[
            TxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    TxnMarkerPartitionResult(partition_index=index, error_code=codes[topic.name, index].result())
                    for index in topic.partition_indexes
                ],
            )
            for topic in marker.topics
        ],
    )


def _written(shards: Shards, marker: TxnMarker, topic: str, index: int) -> asyncio.Future[KafkaCode]:
    future: asyncio.Future[KafkaCode] = asyncio.get_running_loop().create_future()
    shard = shards.groups.get(index) if topic == CONSUMER_OFFSETS else None
    if shard is None or shard.content is None:
        future.set_result(KafkaCode.NOT_LEADER_OR_FOLLOWER)
    else:
        shard.content.end_transaction(marker, future.set_result)
    return future
