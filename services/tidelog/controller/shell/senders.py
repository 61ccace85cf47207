"""One ordered queue to each process the active controller tells: one request in flight, each retried until answered."""

import asyncio
from collections.abc import Callable

from tidelog.kafka.cluster import Member, MetadataUpdate, Role
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import GRPC_LISTENER
from tidelog.rpc import broker_pb2_grpc, group_coordinator_pb2_grpc
from tidelog.runtime import logs
from tidelog.runtime.cluster_rpc import update_to_rpc
from tidelog.runtime.grpc_edge import CallFailed, Channel, connect

RETRY_PAUSE_S = 0.1
# Kafka waits controller.socket.timeout.ms, 30 s. A sender whose process died is closed long before.
CALL_TIMEOUT_MS = 10_000

_logger = logs.get("sender")


class Sender:
    """Tells one incarnation of one process; `on_stale` hears when it knows a newer controller epoch than ours."""

    def __init__(self, role: Role, member: Member, on_stale: Callable[[int], None]) -> None:
        self._role = role
        self._member = member
        self._on_stale = on_stale
        self._queue: asyncio.Queue[MetadataUpdate] = asyncio.Queue()

    def send(self, update: MetadataUpdate) -> None:
        self._queue.put_nowait(update)

    async def run(self, may_send: asyncio.Event) -> None:
        endpoint = self._member.endpoint(GRPC_LISTENER)
        if endpoint is None:
            _logger.warning("no gRPC address is registered", role=self._role, id=self._member.id)
            return
        async with connect(f"{endpoint.host}:{endpoint.port}") as channel:
            while True:
                update = await self._queue.get()
                while not await self._delivered(channel, update):
                    await asyncio.sleep(RETRY_PAUSE_S)
                    await may_send.wait()

    async def _delivered(self, channel: Channel, update: MetadataUpdate) -> bool:
        """Whether there is no point in sending this again."""
        request = update_to_rpc(update, self._member.epoch)
        try:
            if self._role is Role.BROKER:
                await channel.call(broker_pb2_grpc.BrokerStub(channel.grpc).UpdateMetadata, request, CALL_TIMEOUT_MS)
            else:
                coordinator = group_coordinator_pb2_grpc.GroupCoordinatorStub(channel.grpc)
                await channel.call(coordinator.UpdateMetadata, request, CALL_TIMEOUT_MS)
        except KafkaError as refusal:
            return self._refused(refusal, update)
        except CallFailed as failure:
            _logger.debug("not delivered, trying again", role=self._role, id=self._member.id, why=failure)
            return False
        return True

    def _refused(self, refusal: KafkaError, update: MetadataUpdate) -> bool:
        _logger.warning("refused", role=self._role, id=self._member.id, code=refusal.code.name, why=refusal.message)
        if refusal.code is KafkaCode.STALE_CONTROLLER_EPOCH:
            self._on_stale(update.controller_epoch)
            return True
        # A newer incarnation gets a sender of its own once its registration is seen.
        return refusal.code is KafkaCode.STALE_BROKER_EPOCH
