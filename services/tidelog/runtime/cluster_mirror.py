"""This process's image of the cluster, kept by what the active controller tells it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from tidelog.kafka.cluster import ClusterView
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.runtime.cluster_rpc import update_from_rpc, view_to_rpc

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.rpc import types_pb2
    from tidelog.runtime.readiness import Readiness

CONDITION = "metadata"


class ClusterMirror:
    """One view, one writer, and whoever waits for it to change. Ready once an active controller has spoken."""

    def __init__(self, readiness: Readiness, own_epoch: Callable[[], int | None] = lambda: None) -> None:
        self.view = ClusterView()
        self._own_epoch = own_epoch
        self._readiness = readiness
        # Controller epoch and sequence of the newest update.
        self._newest = (-1, 0)
        self._changed = asyncio.Event()
        readiness.expect(CONDITION, "no active controller has spoken to this process yet")

    @property
    def known(self) -> bool:
        """Whether any active controller has spoken yet."""
        return self.view.controller_epoch > 0

    @property
    def next_change(self) -> asyncio.Event:
        """Set by the next update. Take it before looking at the view, so that no update falls in between."""
        return self._changed

    async def until(self, check: Callable[[ClusterView], bool], timeout_ms: float) -> bool:
        """Whether the view comes to pass the check within the time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(timeout_ms, 0) / 1000.0):
                while not check(self.view):
                    await self._changed.wait()
        return check(self.view)

    def take(self, request: types_pb2.UpdateMetadataRequest) -> None:
        """Raises KafkaError for what a deposed controller says, or what was meant for an earlier incarnation.

        What comes late is left out: a call that its sender gave up and repeated may lie in a socket for long.
        """
        own_epoch = self._own_epoch()
        self.view.check_epochs(
            request.controller_epoch, request.recipient_epoch, -1 if own_epoch is None else own_epoch
        )
        told = (request.controller_epoch, request.sequence)
        if request.sequence and told <= self._newest:
            return
        self._newest = max(told, self._newest)
        self.view.apply(update_from_rpc(request))
        self._readiness.ok(CONDITION)
        self._changed.set()
        self._changed = asyncio.Event()

    def describe(self, request: types_pb2.DescribeClusterRequest) -> types_pb2.ClusterMetadata:
        if not self.known:
            raise KafkaError(KafkaCode.LEADER_NOT_AVAILABLE, "no active controller has been heard of yet; try again")
        return view_to_rpc(self.view, without_topics=request.without_topics)
