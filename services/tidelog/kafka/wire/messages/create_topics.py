"""CreateTopics (19): make topics."""

from uuid import UUID

from tidelog.kafka.wire.fields import array, boolean, int8, int16, int32, string, uuid
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

CREATE_TOPICS = Api(19, "CreateTopics", versions="0-7", flexible="5+")


class CreatableReplicaAssignment(Struct):
    partition_index: int = int32()
    broker_ids: list[int] = array(int32)


class CreatableTopicConfig(Struct):
    name: str = string()
    value: str | None = string(nullable="0+")


class CreatableTopic(Struct):
    name: str = string()
    num_partitions: int = int32(default=-1)
    replication_factor: int = int16(default=-1)
    assignments: list[CreatableReplicaAssignment] = array(CreatableReplicaAssignment)
    configs: list[CreatableTopicConfig] = array(CreatableTopicConfig)


class CreateTopicsRequest(Request["CreateTopicsResponse"], api=CREATE_TOPICS):
    topics: list[CreatableTopic] = array(CreatableTopic)
    timeout_ms: int = int32(default=60000)
    validate_only: bool = boolean("1+")


class CreatedTopicConfig(Struct):
    name: str = string()
    value: str | None = string(nullable="0+")
    read_only: bool = boolean()
    config_source: int = int8(default=-1)
    is_sensitive: bool = boolean()


class CreatableTopicResult(Struct):
    name: str = string()
    topic_id: UUID = uuid("7+")
    error_code: int = int16()
    error_message: str | None = string("1+", nullable="1+", default=None)
    topic_config_error_code: int = int16("5+", tag=0)
    num_partitions: int = int32("5+", default=-1)
    replication_factor: int = int16("5+", default=-1)
    configs: list[CreatedTopicConfig] | None = array(CreatedTopicConfig, "5+", nullable="5+")


class CreateTopicsResponse(Response, api=CREATE_TOPICS):
    throttle_time_ms: int = int32("2+")
    topics: list[CreatableTopicResult] = array(CreatableTopicResult)
