"""One ordered queue to each process the active controller tells: one request in flight, each retried until answered.

A process whose registration is gone is dead, or has lost nothing but ZooKeeper. In that case it goes on serving clients, and
its followers copy from somebody else: so it is told on, which is how it learns that it leads no more. The first call that
fails ends that.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tidelog.controller.core.events import ControllerMoved, Event, LeaderAndIsrAnswered, StopReplicaAnswered
from tidelog.controller.core.requests import BrokerRequest, LeaderAndIsr, StopReplica
from tidelog.controller.shell.broker_rpc import leader_and_isr_to_rpc, stop_replica_to_rpc
from tidelog.kafka.cluster import Member, MetadataUpdate, Role
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import GRPC_LISTENER, PartitionIndex, TopicName, TopicPartition
from tidelog.rpc import broker_pb2_grpc, group_coordinator_pb2_grpc, types_pb2
from tidelog.runtime import logs
from tidelog.runtime.cluster_rpc import update_to_rpc
from tidelog.runtime.grpc_edge import CallFailed, Channel, connect

RETRY_PAUSE_S = 0.1
# Kafka waits controller.socket.timeout.ms, 30 s. A sender whose process died is closed long before.
CALL_TIMEOUT_MS = 10_000

_logger = logs.get("sender")


@dataclass(frozen=True, slots=True)
class Authority:
    """On whose behalf requests are sent."""

    controller_id: int
    controller_epoch: int


class Sender:
    """Tells one incarnation of one process; what it answers is posted as events."""

    def __init__(
        self, role: Role, member: Member, authority: Authority, post: Callable[[Event], None], numbers: Iterator[int]
    ) -> None:
        """`numbers` gives each message a higher one than all before it, those of other senders included."""
        self.id = member.id
        self.epoch = member.epoch
        self._is_dismissed = False
        self._role = role
        self._member = member
        self._authority = authority
        self._post = post
        self._numbers = numbers
        self._queue: asyncio.Queue[tuple[int, MetadataUpdate | BrokerRequest]] = asyncio.Queue()

    def send(self, message: MetadataUpdate | BrokerRequest) -> None:
        self._queue.put_nowait((next(self._numbers), message))

    def dismiss(self) -> None:
        """The process is not registered any more: try everything once."""
        self._is_dismissed = True

    async def run(self, may_send: asyncio.Event) -> None:
        """Until cancelled; after a dismissal until the first failure."""
        endpoint = self._member.endpoint(GRPC_LISTENER)
        if endpoint is None:
            _logger.warning("no gRPC address is registered", role=self._role, id=self._member.id)
            return
        async with connect(endpoint.address) as channel:
            while True:
                number, message = await self._queue.get()
                await may_send.wait()
                while not await self._delivered(channel, message, number):
                    if self._is_dismissed:
                        return
                    await asyncio.sleep(RETRY_PAUSE_S)
                    await may_send.wait()

    async def _delivered(self, channel: Channel, message: MetadataUpdate | BrokerRequest, number: int) -> bool:
        """Whether there is no point in sending this again."""
        try:
            self._answered(message, await self._call(channel, message, number))
        except KafkaError as refusal:
            return self._refused(message, refusal)
        except CallFailed as failure:
            _logger.debug("not delivered, trying again", role=self._role, id=self._member.id, why=failure)
            return False
        return True

    async def _call(self, channel: Channel, message: MetadataUpdate | BrokerRequest, number: int) -> Any:
        controller_id, controller_epoch = self._authority.controller_id, self._authority.controller_epoch
        if isinstance(message, MetadataUpdate) and self._role is Role.GROUP_COORDINATOR:
            coordinator = group_coordinator_pb2_grpc.GroupCoordinatorStub(channel.grpc)
            update = update_to_rpc(message, self.epoch, number)
            return await channel.call(coordinator.UpdateMetadata, update, CALL_TIMEOUT_MS)
        broker = broker_pb2_grpc.BrokerStub(channel.grpc)
        match message:
            case MetadataUpdate():
                update = update_to_rpc(message, self.epoch, number)
                return await channel.call(broker.UpdateMetadata, update, CALL_TIMEOUT_MS)
            case LeaderAndIsr():
                roles = leader_and_isr_to_rpc(message, controller_id, controller_epoch, self.epoch, number)
                return await channel.call(broker.LeaderAndIsr, roles, CALL_TIMEOUT_MS)
            case StopReplica():
                stops = stop_replica_to_rpc(message, controller_id, controller_epoch, self.epoch, number)
                return await channel.call(broker.StopReplica, stops, CALL_TIMEOUT_MS)

    def _answered(self, message: MetadataUpdate | BrokerRequest, answer: Any) -> None:
        id, epoch = self._member.id, self.epoch
        if isinstance(message, LeaderAndIsr):
            self._post(LeaderAndIsrAnswered(id, epoch, KafkaCode.NONE, _codes(answer.partitions)))
        elif isinstance(message, StopReplica):
            self._post(StopReplicaAnswered(id, epoch, message, KafkaCode.NONE, _codes(answer.partitions)))

    def _refused(self, message: MetadataUpdate | BrokerRequest, refusal: KafkaError) -> bool:
        _logger.warning("refused", role=self._role, id=self._member.id, code=refusal.code.name, why=refusal.message)
        if refusal.code is KafkaCode.STALE_CONTROLLER_EPOCH:
            self._post(ControllerMoved(self._authority.controller_epoch))
            return True
        # A newer incarnation gets a sender of its own once its registration is seen.
        if refusal.code is KafkaCode.STALE_BROKER_EPOCH:
            return True
        if isinstance(message, LeaderAndIsr):
            self._post(LeaderAndIsrAnswered(self._member.id, self.epoch, refusal.code, {}))
        elif isinstance(message, StopReplica):
            self._post(StopReplicaAnswered(self._member.id, self.epoch, message, refusal.code, {}))
        return not isinstance(message, MetadataUpdate)


def _codes(results: Iterable[types_pb2.PartitionResult]) -> dict[TopicPartition, KafkaCode]:
    return {
        TopicPartition(TopicName(one.topic), PartitionIndex(one.partition)): KafkaCode(one.error_code)
        for one in results
    }
