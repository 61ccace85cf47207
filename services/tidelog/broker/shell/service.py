"""The Broker service over gRPC."""

import grpc.aio

from tidelog.broker.shell.controller_requests import ControllerRequests
from tidelog.broker.shell.data_service import DataService
from tidelog.rpc import broker_pb2, broker_pb2_grpc, types_pb2
from tidelog.runtime.cluster_mirror import ClusterMirror

SERVICE_NAME = "tidelog.v1.Broker"

Context = grpc.aio.ServicerContext[object, object]


class BrokerService(broker_pb2_grpc.BrokerServicer):
    def __init__(self, mirror: ClusterMirror, requests: ControllerRequests, data: DataService) -> None:
        self._mirror = mirror
        self._requests = requests
        self._data = data

    async def LeaderAndIsr(
        self, request: broker_pb2.LeaderAndIsrRequest, context: Context
    ) -> broker_pb2.LeaderAndIsrResponse:
        return await self._requests.leader_and_isr(request)

    async def UpdateMetadata(
        self,
        request: types_pb2.UpdateMetadataRequest,
        context: Context,
    ) -> types_pb2.UpdateMetadataResponse:
        self._requests.update_metadata(request)
        return types_pb2.UpdateMetadataResponse()

    async def StopReplica(
        self, request: broker_pb2.StopReplicaRequest, context: Context
    ) -> broker_pb2.StopReplicaResponse:
        return await self._requests.stop_replica(request)

    async def DescribeCluster(
        self,
        request: types_pb2.DescribeClusterRequest,
        context: Context,
    ) -> types_pb2.ClusterMetadata:
        return self._mirror.describe(request)

    async def Produce(self, request: broker_pb2.ProduceRequest, context: Context) -> broker_pb2.ProduceResponse:
        return await self._data.produce(request)

    async def Fetch(self, request: broker_pb2.FetchRequest, context: Context) -> broker_pb2.FetchResponse:
        return await self._data.fetch(request)

    async def ListOffsets(
        self, request: broker_pb2.ListOffsetsRequest, context: Context
    ) -> broker_pb2.ListOffsetsResponse:
        return self._data.list_offsets(request)
