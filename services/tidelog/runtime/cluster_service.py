"""The two RPCs of every process that the controller tells of the cluster: being told, and telling what it knows."""

from collections.abc import Callable

import grpc.aio

from tidelog.rpc import types_pb2
from tidelog.runtime.cluster_mirror import ClusterMirror

Context = grpc.aio.ServicerContext[object, object]


class ClusterService:
    """Goes before the generated servicer among the bases of a service."""

    def __init__(
        self, mirror: ClusterMirror, take: Callable[[types_pb2.UpdateMetadataRequest], object] | None = None
    ) -> None:
        """`take` is for a process that does more with an update than to remember it."""
        self._mirror = mirror
        self._take = mirror.take if take is None else take

    async def UpdateMetadata(
        self, request: types_pb2.UpdateMetadataRequest, context: Context
    ) -> types_pb2.UpdateMetadataResponse:
        self._take(request)
        return types_pb2.UpdateMetadataResponse()

    async def DescribeCluster(
        self, request: types_pb2.DescribeClusterRequest, context: Context
    ) -> types_pb2.ClusterMetadata:
        return self._mirror.describe(request)
