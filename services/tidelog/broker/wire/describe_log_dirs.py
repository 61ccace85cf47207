"""DescribeLogDirs (35), served in versions 0 to 4.

- v0: which partitions lie in which directory, how large they are and how far behind.
- v1: throttled clients are answered at once.  v2: flexible.  v3: an error for the whole answer.
- v4: the size of the volume and what is free on it.

A replica that is moved to another directory is told in both: there as a future one, with what it still lacks.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

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
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from collections.abc import Container

    from tidelog.broker.log.log import Log
    from tidelog.broker.log.log_dir import LogDir
    from tidelog.broker.log.log_store import LogStore


_UNKNOWN_LAG = -1


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
    return DescribeLogDirsResponse(results=[_described(store, directory, asked) for directory in store.dirs])


def _described(store: LogStore, directory: LogDir, asked: Container[tuple[str, int]] | None) -> DescribeLogDirsResult:
    path = str(Path(directory.path).absolute())
    if directory.is_offline:
        return DescribeLogDirsResult(log_dir=path, error_code=KafkaCode.KAFKA_STORAGE_ERROR)
    topics: dict[str, list[DescribeLogDirsPartition]] = {}
    described = [_partition(log) for log in directory.logs.values()]
    described += [_future(copy, store.get(copy.partition)) for copy in directory.futures.values()]
    for topic, partition in described:
        if asked is None or (topic, partition.partition_index) in asked:
            topics.setdefault(topic, []).append(partition)
    total_bytes, usable_bytes = _volume(directory.path)
    return DescribeLogDirsResult(
        log_dir=path,
        topics=[DescribeLogDirsTopic(name=topic, partitions=partitions) for topic, partitions in topics.items()],
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
    )


def _partition(log: Log) -> tuple[str, DescribeLogDirsPartition]:
    lag = max(log.high_watermark - log.log_end_offset, 0)
    return log.partition.topic, _told(log, lag, is_future=False)


def _future(copy: Log, log: Log | None) -> tuple[str, DescribeLogDirsPartition]:
    lag = _UNKNOWN_LAG if log is None or log.is_offline else log.log_end_offset - copy.log_end_offset
    return copy.partition.topic, _told(copy, lag, is_future=True)


def _told(log: Log, lag: int, *, is_future: bool) -> DescribeLogDirsPartition:
    return DescribeLogDirsPartition(
        partition_index=log.partition.partition, partition_size=log.size, offset_lag=lag, is_future_key=is_future
    )


def _volume(path: str) -> tuple[int, int]:
    try:
        found = os.statvfs(path)
    except OSError:
        return -1, -1
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize
