"""Asks the coordinators about their groups; nothing of what they say is kept."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from tidelog.kafka.errors import KafkaError
from tidelog.kafka.types import GRPC_LISTENER
from tidelog.rpc import group_coordinator_pb2, group_coordinator_pb2_grpc
from tidelog.runtime import logs
from tidelog.runtime.grpc_edge import CallFailed, Channel, connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tidelog.kafka.cluster import ClusterView

# Whoever looks at a page does not wait longer for a coordinator that is gone.
_TIMEOUT_MS = 5_000

_logger = logs.get("metadata")


class FoundGroups(NamedTuple):
    groups: list[group_coordinator_pb2.Group]
    # Whether every coordinator has answered, and has all its shards loaded.
    complete: bool


class Coordinators:
    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._channels: dict[str, Channel] = {}

    @asynccontextmanager
    async def closed_in_the_end(self) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self._close_all_but(())

    async def groups(self, group_ids: Sequence[str] = ()) -> FoundGroups:
        """These groups, or all of them, with what is known of their lag."""
        addresses = self._addresses()
        await self._close_all_but(addresses)
        answers = await asyncio.gather(*(self._ask(address, group_ids) for address in addresses))
        told = [answer for answer in answers if answer is not None]
        # A group that moves from one to the other meanwhile is told once.
        found = {group.group_id: group for answer in told for group in answer.groups}
        complete = bool(told) and len(told) == len(answers) and not any(answer.loading_shards for answer in told)
        return FoundGroups(list(found.values()), complete)

    def _addresses(self) -> list[str]:
        endpoints = (member.endpoint(GRPC_LISTENER) for member in self._view.coordinators.values())
        return [endpoint.address for endpoint in endpoints if endpoint is not None]

    async def _ask(self, address: str, group_ids: Sequence[str]) -> group_coordinator_pb2.DescribeGroupsResponse | None:
        channel = self._channels.get(address)
        if channel is None:
            channel = self._channels[address] = connect(address)
        stub = group_coordinator_pb2_grpc.GroupCoordinatorStub(channel.grpc)
        request = group_coordinator_pb2.DescribeGroupsRequest(group_ids=group_ids)
        try:
            return await channel.call(stub.DescribeGroups, request, _TIMEOUT_MS)
        except (KafkaError, CallFailed) as error:
            _logger.info("coordinator does not tell its groups", address=address, error=str(error))
            return None

    async def _close_all_but(self, addresses: Sequence[str]) -> None:
        for address in self._channels.keys() - set(addresses):
            await self._channels.pop(address).close()
