"""The GroupCoordinator service over gRPC."""

import grpc.aio

from tidelog.rpc import group_coordinator_pb2_grpc, types_pb2
from tidelog.runtime.cluster_mirror import ClusterMirror

SERVICE_NAME = "tidelog.v1.GroupCoordinator"

Context = grpc.aio.ServicerContext[object, object]


class GroupCoordinatorService(group_coordinator_pb2_grpc.GroupCoordinatorServicer):
    def __init__(self, mirror: ClusterMirror) -> None:
        self._mirror = mirror

    async def UpdateMetadata(
        self,
        request: types_pb2.UpdateMetadataRequest,
        context: Context,
    ) -> types_pb2.UpdateMetadataResponse:
        self._mirror.take(request)
        return types_pb2.UpdateMetadataResponse()

    async def DescribeCluster(
        self,
        request: types_pb2.DescribeClusterRequest,
        context: Context,
    ) -> types_pb2.ClusterMetadata:
        return self._mirror.describe(request)
