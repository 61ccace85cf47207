"""ElectLeaders (43): let the preferred replica lead, or any replica if none is in sync."""

from tidelog.kafka.wire.fields import array, int8, int16, int32, string
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

ELECT_LEADERS = Api(43, "ElectLeaders", versions="0-2", flexible="2+")


class ElectLeadersTopic(Struct):
    topic: str = string()
    partitions: list[int] = array(int32)


class ElectLeadersRequest(Request["ElectLeadersResponse"], api=ELECT_LEADERS):
    election_type: int = int8("1+")
    topic_partitions: list[ElectLeadersTopic] | None = array(ElectLeadersTopic, nullable="0+")
    timeout_ms: int = int32(default=60000)


class ElectLeadersPartitionResult(Struct):
    partition_id: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


class ElectLeadersTopicResult(Struct):
    topic: str = string()
    partition_result: list[ElectLeadersPartitionResult] = array(ElectLeadersPartitionResult)


class ElectLeadersResponse(Response, api=ELECT_LEADERS):
    throttle_time_ms: int = int32()
    error_code: int = int16("1+")
    replica_election_results: list[ElectLeadersTopicResult] = array(ElectLeadersTopicResult)
