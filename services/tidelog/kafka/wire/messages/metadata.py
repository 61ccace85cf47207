"""Metadata (3): brokers, topics, and who leads each partition."""

from uuid import UUID

from tidelog.kafka.wire.fields import array, boolean, int16, int32, string, uuid
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

METADATA = Api(3, "Metadata", versions="0-12", flexible="9+")

# What stands for a set of authorized operations that was not asked for.
OPERATIONS_NOT_ASKED = -2147483648


class MetadataRequestTopic(Struct):
    topic_id: UUID = uuid("10+")
    name: str | None = string(nullable="10+")


class MetadataRequest(Request["MetadataResponse"], api=METADATA):
    topics: list[MetadataRequestTopic] | None = array(MetadataRequestTopic, nullable="1+")
    allow_auto_topic_creation: bool = boolean("4+", default=True)
    include_cluster_authorized_operations: bool = boolean("8-10")
    include_topic_authorized_operations: bool = boolean("8+")


class MetadataResponseBroker(Struct):
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string("1+", nullable="1+", default=None)


class MetadataResponsePartition(Struct):
    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32("7+", default=-1)
    replica_nodes: list[int] = array(int32)
    isr_nodes: list[int] = array(int32)
    offline_replicas: list[int] = array(int32, "5+")


class MetadataResponseTopic(Struct):
    error_code: int = int16()
    name: str | None = string(nullable="12+")
    topic_id: UUID = uuid("10+")
    is_internal: bool = boolean("1+")
    partitions: list[MetadataResponsePartition] = array(MetadataResponsePartition)
    topic_authorized_operations: int = int32("8+", default=OPERATIONS_NOT_ASKED)


class MetadataResponse(Response, api=METADATA):
    throttle_time_ms: int = int32("3+")
    brokers: list[MetadataResponseBroker] = array(MetadataResponseBroker)
    cluster_id: str | None = string("2+", nullable="2+", default=None)
    controller_id: int = int32("1+", default=-1)
    topics: list[MetadataResponseTopic] = array(MetadataResponseTopic)
    cluster_authorized_operations: int = int32("8-10", default=OPERATIONS_NOT_ASKED)
