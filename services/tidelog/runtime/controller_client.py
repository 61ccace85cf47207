"""The way from a broker to the active controller, wherever that is at the moment."""

import asyncio
import time
from typing import Any

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import GRPC_LISTENER
from tidelog.rpc import controller_pb2_grpc
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.grpc_edge import CallFailed, Channel, DeadlineExceeded, Unreachable, connect

# How often a controller that says it is not active is asked again, if nobody tells of another one.
_ASK_AGAIN_MS = 50.0
# A client that asks for a timeout of 0 still wants its request to be executed.
_LEAST_CALL_MS = 5_000.0


class ControllerClient:
    """Calls methods of the Controller service; follows the active controller as the mirror tells it."""

    def __init__(self, mirror: ClusterMirror) -> None:
        self.mirror = mirror
        self._channel: Channel | None = None

    async def call(self, method: str, request: Any, timeout_ms: float) -> Any:
        """The controller's answer.

        NOT_CONTROLLER if none could be reached in time, or if the connection broke on the way: then nobody knows whether
        the request was executed, and clients look for the controller and ask again.
        """
        deadline = time.monotonic() + max(timeout_ms, _LEAST_CALL_MS) / 1000.0
        while True:
            remaining_ms = (deadline - time.monotonic()) * 1000.0
            if remaining_ms <= 0:
                raise KafkaError(KafkaCode.NOT_CONTROLLER, "There is no active controller at the moment.")
            changed = self.mirror.next_change
            channel = await self._current_channel()
            if channel is not None:
                try:
                    stub = controller_pb2_grpc.ControllerStub(channel.grpc)
                    return await channel.call(getattr(stub, method), request, remaining_ms)
                except DeadlineExceeded:
                    raise KafkaError(KafkaCode.REQUEST_TIMED_OUT) from None
                except CallFailed as failure:
                    if not _was_never_sent(failure):
                        raise KafkaError(KafkaCode.NOT_CONTROLLER, f"The controller went away: {failure}") from failure
                except KafkaError as refusal:
                    if refusal.code is not KafkaCode.NOT_CONTROLLER:
                        raise
            await _wait(changed, min(_ASK_AGAIN_MS, remaining_ms))

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    async def _current_channel(self) -> Channel | None:
        member = self.mirror.view.active_controller
        endpoint = member.endpoint(GRPC_LISTENER) if member else None
        if endpoint is None:
            return None
        if self._channel is None or self._channel.address != endpoint.address:
            await self.close()
            self._channel = connect(endpoint.address)
        return self._channel


def _was_never_sent(failure: CallFailed) -> bool:
    """A call that found no connection was not executed by anybody, so it may safely go to the next controller."""
    return isinstance(failure, Unreachable) and "failed to connect" in failure.details.lower()


async def _wait(changed: asyncio.Event, timeout_ms: float) -> None:
    try:
        await asyncio.wait_for(changed.wait(), timeout_ms / 1000.0)
    except TimeoutError:
        return
