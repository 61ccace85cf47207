"""DescribeCluster (60), served in versions 0 and 1.

- v0: the cluster's id, its controller and its brokers; flexible from the start.
- v1: asks for brokers or for controllers; a broker knows only the former.

Without an authorizer everybody may do everything, which is what the authorized operations say if they are asked for.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.wire.endpoints import reachable_brokers
from tidelog.broker.wire.operations import CLUSTER_OPERATIONS
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.describe_cluster import (
    DESCRIBE_CLUSTER,
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from tidelog.kafka.wire.messages.metadata import OPERATIONS_NOT_ASKED
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from tidelog.kafka.cluster import ClusterView

_BROKERS, _CONTROLLERS = 1, 2


def served(view: ClusterView) -> ServedApi:
    return ServedApi(DESCRIBE_CLUSTER, parse_versions("0-1"), partial(_answer, view))


def _answer(view: ClusterView, context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
    if request.endpoint_type != _BROKERS:
        return _refusal(request.endpoint_type)
    asked = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        cluster_id=view.cluster_id,
        controller_id=view.controller_id,
        brokers=[
            DescribeClusterBroker(broker_id=member.id, host=endpoint.host, port=endpoint.port, rack=member.rack)
            for member, endpoint in reachable_brokers(view, context.listener).values()
        ],
        cluster_authorized_operations=CLUSTER_OPERATIONS if asked else OPERATIONS_NOT_ASKED,
    )


def _refusal(endpoint_type: int) -> DescribeClusterResponse:
    if endpoint_type == _CONTROLLERS:
        code, message = KafkaCode.MISMATCHED_ENDPOINT_TYPE, "This is a broker; it was asked for controllers."
    else:
        code, message = KafkaCode.UNSUPPORTED_ENDPOINT_TYPE, f"There is no endpoint type {endpoint_type}."
    return DescribeClusterResponse(error_code=code, error_message=message, endpoint_type=endpoint_type)
