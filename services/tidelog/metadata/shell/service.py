"""The Metadata service over gRPC."""

from collections.abc import AsyncIterator

import grpc.aio

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.metadata.shell.asking import Coordinators
from tidelog.rpc import group_coordinator_pb2, metadata_pb2, metadata_pb2_grpc, types_pb2
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.cluster_rpc import view_to_rpc

SERVICE_NAME = "tidelog.v1.Metadata"


class MetadataService(metadata_pb2_grpc.MetadataServicer):
    def __init__(self, mirror: ClusterMirror, coordinators: Coordinators) -> None:
        self._mirror = mirror
        self._coordinators = coordinators

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

    async def DescribeLag(
        self,
        request: metadata_pb2.DescribeLagRequest,
        context: grpc.aio.ServicerContext[object, object],
    ) -> metadata_pb2.DescribeLagResponse:
        found = await self._coordinators.groups(list(request.group_ids))
        if not found.complete:
            raise KafkaError(KafkaCode.COORDINATOR_NOT_AVAILABLE)
        return metadata_pb2.DescribeLagResponse(groups=[_lag(group) for group in found.groups])


def _lag(group: group_coordinator_pb2.Group) -> metadata_pb2.GroupLag:
    """How far a group is behind, of the partitions whose ends are known."""
    return metadata_pb2.GroupLag(
        group_id=group.group_id,
        partitions=[
            metadata_pb2.PartitionLag(
                topic=each.topic,
                partition=each.partition,
                committed_offset=each.offset,
                log_end_offset=each.offset + each.lag,
                lag=each.lag,
            )
            for each in group.offsets
            if each.HasField("lag")
        ],
    )
