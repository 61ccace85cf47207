"""A controller in the hands of a test: it tells one broker what to lead and what the cluster looks like, over gRPC."""

import itertools
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import grpc

from tests.support.cluster_view import Zookeeper
from tests.support.services import Service
from tests.support.waiting import eventually
from tidelog.rpc import broker_pb2, broker_pb2_grpc, types_pb2

CLUSTER_ID = "test-cluster"


@dataclass
class FakeController:
    """Speaks to one broker, which leads everything unless it is told otherwise."""

    broker: Service
    zookeeper: Zookeeper
    controller_epoch: int = 1
    topics: dict[str, types_pb2.TopicState] = field(default_factory=dict)
    grpc_address: str = ""
    coordinators: list[types_pb2.Member] = field(default_factory=list)
    shards: list[types_pb2.ShardOwner] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._channel = grpc.insecure_channel(self.broker.grpc)
        self.stub: Any = broker_pb2_grpc.BrokerStub(self._channel)
        self._epochs = itertools.count(1)

    def close(self) -> None:
        self._channel.close()

    def introduce(self) -> None:
        """Wait for the broker's registration and tell it of the cluster, which makes it ready."""
        eventually(lambda: self.zookeeper.broker_epoch(self.broker.id) is not None)
        eventually(self._tell)
        self.broker.wait_ready()

    def create(
        self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None, **state: Any
    ) -> types_pb2.TopicState:
        """A topic that the broker leads, with these configs in ZooKeeper."""
        if configs:
            data = json.dumps({"version": 1, "config": dict(configs)}).encode()
            self.zookeeper.client.create(f"/config/topics/{name}", data, makepath=True)
        topic = types_pb2.TopicState(
            name=name,
            topic_id=uuid.uuid4().bytes,
            partitions=[self.state(index, **{"is_new": True, **state}) for index in range(partitions)],
        )
        self.topics[name] = topic
        answer = self.lead(topic)
        assert [result.error_code for result in answer.partitions] == [0] * partitions, answer
        self.update_metadata()
        return topic

    def state(self, index: int, **fields: Any) -> types_pb2.PartitionState:
        own = self.broker.id
        known: dict[str, Any] = {"leader": own, "leader_epoch": 0, "isr": [own], "replicas": [own]}
        return types_pb2.PartitionState(partition=index, **{**known, **fields})

    def lead(self, topic: types_pb2.TopicState, **fields: Any) -> broker_pb2.LeaderAndIsrResponse:
        answer: broker_pb2.LeaderAndIsrResponse = self.stub.LeaderAndIsr(
            broker_pb2.LeaderAndIsrRequest(**{**self._front(), "topics": [topic], **fields}), timeout=10
        )
        return answer

    def stop(self, name: str, index: int = 0, leader_epoch: int = -2, **fields: Any) -> broker_pb2.StopReplicaResponse:
        asked = broker_pb2.StopReplicaPartition(
            topic=name, partition=index, leader_epoch=leader_epoch, delete_partition=fields.pop("delete", True)
        )
        answer: broker_pb2.StopReplicaResponse = self.stub.StopReplica(
            broker_pb2.StopReplicaRequest(**{**self._front(), "partitions": [asked], **fields}), timeout=10
        )
        return answer

    def delete(self, name: str) -> None:
        topic = self.topics.pop(name)
        for partition in topic.partitions:
            assert self.stop(name, partition.partition).partitions[0].error_code == 0
        self.update_metadata()

    def update_metadata(self, **fields: Any) -> None:
        host, port = self.broker.kafka.split(":")
        grpc_host, grpc_port = self.broker.grpc.split(":")
        own = types_pb2.Member(
            id=self.broker.id,
            epoch=self.zookeeper.broker_epoch(self.broker.id) or -1,
            endpoints=[
                types_pb2.Endpoint(listener="PLAINTEXT", host=host, port=int(port)),
                types_pb2.Endpoint(listener="GRPC", host=grpc_host, port=int(grpc_port)),
            ],
        )
        front = self._front()
        request = types_pb2.UpdateMetadataRequest(
            controller_id=front["controller_id"],
            controller_epoch=front["controller_epoch"],
            recipient_epoch=front["broker_epoch"],
            cluster_id=CLUSTER_ID,
            brokers=[own],
            controllers=self._controllers(),
            coordinators=self.coordinators,
            shards=self.shards,
            topics=list(self.topics.values()),
            topics_complete=True,
        )
        for name, value in fields.items():
            setattr(request, name, value)
        self.stub.UpdateMetadata(request, timeout=10)

    def _tell(self) -> bool:
        try:
            self.update_metadata()
        except grpc.RpcError as error:
            raise OSError(str(error)) from error
        return True

    def _front(self) -> dict[str, Any]:
        return {
            "controller_id": 0,
            "controller_epoch": self.controller_epoch,
            "broker_epoch": self.zookeeper.broker_epoch(self.broker.id) or -1,
        }

    def _controllers(self) -> list[types_pb2.Member]:
        if not self.grpc_address:
            return []
        host, port = self.grpc_address.split(":")
        endpoint = types_pb2.Endpoint(listener="GRPC", host=host, port=int(port))
        return [types_pb2.Member(id=0, epoch=1, endpoints=[endpoint])]
