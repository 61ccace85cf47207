"""DescribeLogDirs (35): what lies in the log directories of a broker."""

from tidelog.kafka.wire.fields import array, boolean, int16, int32, int64, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

DESCRIBE_LOG_DIRS = Api(35, "DescribeLogDirs", versions="0-4", flexible="2+")


class DescribableLogDirTopic(Struct):
    topic: str = string()
    partitions: list[int] = array(int32)


class DescribeLogDirsRequest(Request["DescribeLogDirsResponse"], api=DESCRIBE_LOG_DIRS):
    topics: list[DescribableLogDirTopic] | None = array(DescribableLogDirTopic, nullable="0+")


class DescribeLogDirsPartition(Struct):
    partition_index: int = int32()
    partition_size: int = int64()
    offset_lag: int = int64()
    is_future_key: bool = boolean()


class DescribeLogDirsTopic(Struct):
    name: str = string()
    partitions: list[DescribeLogDirsPartition] = array(DescribeLogDirsPartition)


class DescribeLogDirsResult(Struct):
    error_code: int = int16()
    log_dir: str = string()
    topics: list[DescribeLogDirsTopic] = array(DescribeLogDirsTopic)
    total_bytes: int = int64("4+", default=-1)
    usable_bytes: int = int64("4+", default=-1)


class DescribeLogDirsResponse(Response, api=DESCRIBE_LOG_DIRS):
    throttle_time_ms: int = int32()
    error_code: int = int16("3+")
    results: list[DescribeLogDirsResult] = array(DescribeLogDirsResult)
