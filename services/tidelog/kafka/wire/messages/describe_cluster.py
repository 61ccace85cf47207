"""DescribeCluster (60): the brokers, the controller and the id of the cluster."""

from tidelog.kafka.wire.fields import array, boolean, int8, int16, int32, string
from tidelog.kafka.wire.messages.metadata import OPERATIONS_NOT_ASKED
from tidelog.kafka.wire.schema import Api, Request, Response, Struct

DESCRIBE_CLUSTER = Api(60, "DescribeCluster", versions="0-1", flexible="0+")


class DescribeClusterRequest(Request["DescribeClusterResponse"], api=DESCRIBE_CLUSTER):
    include_cluster_authorized_operations: bool = boolean()
    endpoint_type: int = int8("1+", default=1)


class DescribeClusterBroker(Struct):
    broker_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)


class DescribeClusterResponse(Response, api=DESCRIBE_CLUSTER):
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    endpoint_type: int = int8("1+", default=1)
    cluster_id: str = string()
    controller_id: int = int32(default=-1)
    brokers: list[DescribeClusterBroker] = array(DescribeClusterBroker)
    cluster_authorized_operations: int = int32(default=OPERATIONS_NOT_ASKED)
