"""AlterReplicaLogDirs (34): move replicas between the log directories of a broker."""

from tidelog.kafka.wire.fields import array, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

ALTER_REPLICA_LOG_DIRS = Api(34, "AlterReplicaLogDirs", versions="0-2", flexible="2+")


class AlterReplicaLogDirTopic(Struct):
    name: str = string()
    partitions: list[int] = array(int32)


class AlterReplicaLogDir(Struct):
    path: str = string()
    topics: list[AlterReplicaLogDirTopic] = array(AlterReplicaLogDirTopic)


class AlterReplicaLogDirsRequest(Request["AlterReplicaLogDirsResponse"], api=ALTER_REPLICA_LOG_DIRS):
    dirs: list[AlterReplicaLogDir] = array(AlterReplicaLogDir)


class AlterReplicaLogDirPartitionResult(Struct):
    partition_index: int = int32()
    error_code: int = int16()


class AlterReplicaLogDirTopicResult(Struct):
    topic_name: str = string()
    partitions: list[AlterReplicaLogDirPartitionResult] = array(AlterReplicaLogDirPartitionResult)


class AlterReplicaLogDirsResponse(Response, api=ALTER_REPLICA_LOG_DIRS):
    throttle_time_ms: int = int32()
    results: list[AlterReplicaLogDirTopicResult] = array(AlterReplicaLogDirTopicResult)
