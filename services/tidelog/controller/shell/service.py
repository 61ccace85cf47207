"""The Controller service over gRPC."""

from collections.abc import AsyncIterator

import grpc.aio

from tidelog.controller.core.controller import Controller
from tidelog.controller.shell.observers import Observers
from tidelog.rpc import controller_pb2, controller_pb2_grpc, types_pb2
from tidelog.runtime.cluster_rpc import update_to_rpc

SERVICE_NAME = "tidelog.v1.Controller"
_NO_REGISTRATION = -1


class ControllerService(controller_pb2_grpc.ControllerServicer):
    def __init__(self, core: Controller, observers: Observers) -> None:
        self._core = core
        self._observers = observers

    async def Observe(
        self,
        request: controller_pb2.ObserveRequest,
        context: grpc.aio.ServicerContext[object, object],
    ) -> AsyncIterator[types_pb2.UpdateMetadataRequest]:
        async for update in self._observers.follow(self._core.snapshot):
            yield update_to_rpc(update, _NO_REGISTRATION)
