"""The Broker service over gRPC."""

from tidelog.broker.shell.controller_requests import ControllerRequests
from tidelog.broker.shell.data_service import DataService
from tidelog.rpc import broker_pb2, broker_pb2_grpc
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.cluster_service import ClusterService, Context

SERVICE_NAME = "tidelog.v1.Broker"


class BrokerService(ClusterService, broker_pb2_grpc.BrokerServicer):
    def __init__(self, mirror: ClusterMirror, requests: ControllerRequests, data: DataService) -> None:
        super().__init__(mirror, requests.update_metadata)
        self._requests = requests
        self._data = data

    async def LeaderAndIsr(
        self, request: broker_pb2.LeaderAndIsrRequest, context: Context
    ) -> broker_pb2.LeaderAndIsrResponse:
        return await self._requests.leader_and_isr(request)

    async def StopReplica(
        self, request: broker_pb2.StopReplicaRequest, context: Context
    ) -> broker_pb2.StopReplicaResponse:
        return await self._requests.stop_replica(request)

    async def Produce(self, request: broker_pb2.ProduceRequest, context: Context) -> broker_pb2.ProduceResponse:
        return await self._data.produce(request)

    async def Fetch(self, request: broker_pb2.FetchRequest, context: Context) -> broker_pb2.FetchResponse:
        return await self._data.fetch(request)

    async def ListOffsets(
        self, request: broker_pb2.ListOffsetsRequest, context: Context
    ) -> broker_pb2.ListOffsetsResponse:
        return self._data.list_offsets(request)

    async def AlterReplicaLogDirs(
        self, request: broker_pb2.AlterReplicaLogDirsRequest, context: Context
    ) -> broker_pb2.AlterReplicaLogDirsResponse:
        return self._data.alter_replica_log_dirs(request)
