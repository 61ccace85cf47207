"""What a cluster says of itself, asked from outside: ZooKeeper's nodes, and every process's answer over gRPC and REST."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from tests.support.services import Service, get_json
from tidelog.rpc import broker_pb2_grpc, group_coordinator_pb2_grpc, metadata_pb2_grpc, types_pb2

STUBS = {
    "broker": broker_pb2_grpc.BrokerStub,
    "group-coordinator": group_coordinator_pb2_grpc.GroupCoordinatorStub,
    "metadata": metadata_pb2_grpc.MetadataStub,
}


class Zookeeper:
    """A client of our own beside those of the processes."""

    def __init__(self, client: KazooClient) -> None:
        self.client = client

    def epoch(self) -> int:
        return int(self.client.get("/controller_epoch")[0])

    def active_controller(self) -> int | None:
        try:
            return int(json.loads(self.client.get("/controller")[0])["brokerid"])
        except NoNodeError:
            return None

    def ids(self, parent: str = "/brokers/ids") -> set[int]:
        try:
            return {int(name) for name in self.client.get_children(parent)}
        except NoNodeError:
            return set()

    def broker_epoch(self, broker_id: int) -> int | None:
        stat = self.client.exists(f"/brokers/ids/{broker_id}")
        return None if stat is None else int(stat.czxid)


@contextmanager
def zookeeper_at(connect: str) -> Iterator[Zookeeper]:
    hosts, _, chroot = connect.partition("/")
    client: Any = KazooClient(hosts, timeout=30)
    client.start(30)
    if chroot:
        client.ensure_path(chroot)
        client.chroot = f"/{chroot}"
    try:
        yield Zookeeper(client)
    finally:
        client.stop()
        client.close()


def described(service: Service) -> types_pb2.ClusterMetadata:
    """DescribeCluster of one process."""
    with grpc.insecure_channel(service.grpc) as channel:
        answer: types_pb2.ClusterMetadata = STUBS[service.role](channel).DescribeCluster(
            types_pb2.DescribeClusterRequest(), timeout=5
        )
        return answer


def brokers_told(service: Service) -> set[int]:
    """The brokers that one process believes in."""
    try:
        return {broker.id for broker in described(service).brokers}
    except grpc.RpcError as error:
        raise OSError(f"{service.role} {service.id}: {error}") from error


def brokers_of_rest(metadata: Service) -> set[int]:
    return {broker["id"] for broker in get_json(f"http://{metadata.http}/api/v1/cluster")["brokers"]}
