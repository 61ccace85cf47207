"""AlterReplicaLogDirs (34), served in versions 0 to 2.

- v0: replicas of this broker, each with the log directory that it shall be in.
- v1: throttled clients are answered at once.  v2: flexible.

It is answered when the copying begins, or with error 9 for a replica that is not here yet: it will be created there.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.alter_replica_log_dirs import (
    ALTER_REPLICA_LOG_DIRS,
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.log_dir_moves import LogDirMoves


def served(moves: LogDirMoves) -> ServedApi:
    return ServedApi(ALTER_REPLICA_LOG_DIRS, parse_versions("0-2"), partial(_answer, moves))


def _answer(
    moves: LogDirMoves,
    context: RequestContext,  # noqa: ARG001  versions differ in nothing but their form
    request: AlterReplicaLogDirsRequest,
) -> AlterReplicaLogDirsResponse:
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            result = topics.setdefault(topic.name, AlterReplicaLogDirTopicResult(topic_name=topic.name))
            result.partitions += [_move(moves, topic.name, index, directory.path) for index in topic.partitions]
    return AlterReplicaLogDirsResponse(results=list(topics.values()))


def _move(moves: LogDirMoves, topic: str, index: int, path: str) -> AlterReplicaLogDirPartitionResult:
    code = KafkaCode.NONE
    try:
        moves.move(topic, index, path)
    except KafkaError as refusal:
        code = refusal.code
    return AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
