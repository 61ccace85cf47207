"""DeleteRecords (21), served in versions 0 to 2.

- v0: the log of a partition starts at an offset from then on; -1 stands for the high watermark.
- v1: throttled clients are answered at once.  v2: flexible.

It is answered when every live replica has moved its start, or with error 7 when the time is over.
"""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from tidelog.kafka.wire.messages.delete_records import (
    DELETE_RECORDS,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.deleting import Deleted, Deleting


def served(deleting: Deleting) -> ServedApi:
    return ServedApi(DELETE_RECORDS, parse_versions("0-2"), partial(_answer, deleting))


async def _answer(
    deleting: Deleting,
    context: RequestContext,  # noqa: ARG001  versions differ in nothing but their fields
    request: DeleteRecordsRequest,
) -> DeleteRecordsResponse:
    asked = [(topic.name, one.partition_index, one.offset) for topic in request.topics for one in topic.partitions]
    answered: asyncio.Future[list[Deleted]] = asyncio.get_running_loop().create_future()
    deleting.delete(asked, request.timeout_ms, answered.set_result)
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic,
                partitions=[
                    DeleteRecordsPartitionResult(
                        partition_index=one.partition, low_watermark=one.low_watermark, error_code=one.error_code
                    )
                    for one in answers
                ],
            )
            for topic, answers in groupby(await answered, lambda one: one.topic)
        ]
    )
