"""DescribeLogDirs (35), served in versions 0 to 4.

- v0: which partitions lie in which directory, how large they are and how far behind.
- v1: throttled clients are answered at once.  v2: flexible.  v3: an error for the whole answer.
- v4: the size of the volume and what is free on it.

No partition ever moves between directories, so none is told as a future one.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.broker.wire.served import RequestContext, ServedApi
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.describe_log_dirs import (
    DESCRIBE_LOG_DIRS,
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from tidelog.kafka.wire.versions import parse_versions

if TYPE_CHECKING:
    from collections.abc import Container

    from tidelog.broker.log.log import Log
    from tidelog.broker.log.log_dir import LogDir
    from tidelog.broker.log.log_store import LogStore


def served(store: LogStore) -> ServedApi:
    return ServedApi(DESCRIBE_LOG_DIRS, parse_versions("0-4"), partial(_answer, store))


def _answer(
    store: LogStore,
    context: RequestContext,  # noqa: ARG001  versions differ in nothing but their fields
    request: DescribeLogDirsRequest,
) -> DescribeLogDirsResponse:
    asked: Container[tuple[str, int]] | None = None
    if request.topics is not None:
        asked = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    return DescribeLogDirsResponse(results=[_described(directory, asked) for directory in store.dirs])


def _described(directory: LogDir, asked: Container[tuple[str, int]] | None) -> DescribeLogDirsResult:
    path = str(Path(directory.path).absolute())
    if directory.is_offline:
        return DescribeLogDirsResult(log_dir=path, error_code=KafkaCode.KAFKA_STORAGE_ERROR)
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    for name, log in directory.logs.items():
        if asked is None or (name.topic, name.partition) in asked:
            topics.setdefault(name.topic, []).append(_partition(log))
    total_bytes, usable_bytes = _volume(directory.path)
    return DescribeLogDirsResult(
        log_dir=path,
        topics=[DescribeLogDirsTopic(name=topic, partitions=partitions) for topic, partitions in topics.items()],
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
    )


def _partition(log: Log) -> DescribeLogDirsPartition:
    lag = max(log.high_watermark - log.log_end_offset, 0)
    return DescribeLogDirsPartition(
        partition_index=log.partition.partition, partition_size=log.size, offset_lag=lag, is_future_key=False
    )


def _volume(path: str) -> tuple[int, int]:
    try:
        found = os.statvfs(path)
    except OSError:
        return -1, -1
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
