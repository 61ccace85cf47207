"""The GroupCoordinator service over gRPC."""

from tidelog.rpc import group_coordinator_pb2_grpc
from tidelog.runtime.cluster_service import ClusterService

SERVICE_NAME = "tidelog.v1.GroupCoordinator"


class GroupCoordinatorService(ClusterService, group_coordinator_pb2_grpc.GroupCoordinatorServicer):
    """It is told of the cluster; groups and transactions come in over the Kafka wire."""
