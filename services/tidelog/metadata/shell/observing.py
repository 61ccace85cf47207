"""Listens to every controller; the active one speaks, and a new one is heard the moment it is active."""

import asyncio
from contextlib import aclosing

from tidelog.kafka.errors import KafkaError
from tidelog.rpc import controller_pb2, controller_pb2_grpc
from tidelog.runtime import logs
from tidelog.runtime.cluster_mirror import CONDITION, ClusterMirror
from tidelog.runtime.grpc_edge import CallFailed, Channel, connect
from tidelog.runtime.readiness import Readiness

_RECONNECT_PAUSE_S = 0.1

_logger = logs.get("metadata")


class Observer:
    """One stream to each configured controller; ready while the stream of the one that spoke last is open."""

    def __init__(self, controllers: tuple[str, ...], mirror: ClusterMirror, readiness: Readiness) -> None:
        self._controllers = controllers
        self._mirror = mirror
        self._readiness = readiness
        self._heard: str | None = None
        readiness.expect(CONDITION, f"waiting for an active controller among {', '.join(controllers)}")

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for address in self._controllers:
                tasks.create_task(self._follow(address), name=f"observe {address}")

    async def _follow(self, address: str) -> None:
        async with connect(address) as channel:
            while True:
                try:
                    await self._listen(address, channel)
                except (KafkaError, CallFailed) as error:
                    _logger.debug("controller does not answer", address=address, error=error)
                self._lost(address)
                await asyncio.sleep(_RECONNECT_PAUSE_S)

    async def _listen(self, address: str, channel: Channel) -> None:
        stub = controller_pb2_grpc.ControllerStub(channel.grpc)
        async with aclosing(channel.stream(stub.Observe, controller_pb2.ObserveRequest())) as updates:
            async for update in updates:
                self._mirror.take(update)
                self._hears(address)

    def _hears(self, address: str) -> None:
        if self._heard != address:
            _logger.info("following the active controller", address=address, epoch=self._mirror.view.controller_epoch)
        self._heard = address

    def _lost(self, address: str) -> None:
        if self._heard == address:
            self._heard = None
            self._readiness.not_ready(CONDITION, f"the controller at {address} went away; waiting for the next one")
