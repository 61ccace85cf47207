"""The Metadata service over gRPC."""

from collections.abc import AsyncIterator

import grpc.aio

from tidelog.rpc import metadata_pb2, metadata_pb2_grpc, types_pb2
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.cluster_rpc import view_to_rpc

SERVICE_NAME = "tidelog.v1.Metadata"


class MetadataService(metadata_pb2_grpc.MetadataServicer):
    def __init__(self, mirror: ClusterMirror) -> None:
        self._mirror = mirror

    async def DescribeCluster(
        self,
        request: types_pb2.DescribeClusterRequest,
        context: grpc.aio.ServicerContext[object, object],
    ) -> types_pb2.ClusterMetadata:
        return self._mirror.describe(request)

    async def WatchMetadata(
        self,
        request: metadata_pb2.WatchMetadataRequest,
        context: grpc.aio.ServicerContext[object, object],
    ) -> AsyncIterator[types_pb2.ClusterMetadata]:
        while True:
            # Taken before the answer is sent: what changes while a slow reader is busy is seen afterwards, once.
            change = self._mirror.next_change
            if self._mirror.known:
                yield view_to_rpc(self._mirror.view, without_topics=request.without_topics, topics=request.topics)
            await change.wait()
