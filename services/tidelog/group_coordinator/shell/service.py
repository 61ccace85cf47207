"""The GroupCoordinator service over gRPC."""

from collections.abc import Callable

import grpc.aio

from tidelog.group_coordinator.shell.coordination import Coordination
from tidelog.group_coordinator.shell.group_report import describe_groups, describe_shards
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.rpc import group_coordinator_pb2, group_coordinator_pb2_grpc
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.cluster_service import ClusterService

SERVICE_NAME = "tidelog.v1.GroupCoordinator"

Context = grpc.aio.ServicerContext[object, object]


class GroupCoordinatorService(ClusterService, group_coordinator_pb2_grpc.GroupCoordinatorServicer):
    """It is told of the cluster, and shows its shards and groups; whatever changes them comes over the Kafka wire."""

    def __init__(
        self, mirror: ClusterMirror, coordination: Coordination, coordinator_id: int, is_in_doubt: Callable[[], bool]
    ) -> None:
        super().__init__(mirror)
        self._coordination = coordination
        self._id = coordinator_id
        self._is_in_doubt = is_in_doubt

    async def DescribeShards(
        self, request: group_coordinator_pb2.DescribeShardsRequest, context: Context
    ) -> group_coordinator_pb2.DescribeShardsResponse:
        return describe_shards(self._coordination.shards, self._id)

    async def DescribeGroups(
        self, request: group_coordinator_pb2.DescribeGroupsRequest, context: Context
    ) -> group_coordinator_pb2.DescribeGroupsResponse:
        if self._is_in_doubt():
            # Somebody else may have the shards by now.
            raise KafkaError(KafkaCode.COORDINATOR_NOT_AVAILABLE)
        return describe_groups(self._coordination.shards, self._coordination.lag_watch.lag, request.group_ids)
