"""Members of groups that cost the client next to nothing: the requests of a consumer, by hand, on a connection each."""

import asyncio
from typing import Any

from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest
from tidelog.kafka.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from tidelog.kafka.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.net.connection import Connection, ConnectionLostError

SESSION_MS = 30_000
TIMEOUT_S = 60.0
_FIND, _JOIN, _SYNC, _HEARTBEAT = 3, 9, 5, 4
_RETRY_S = 0.02
_LOOK_S = 0.1


class RawMember:
    """One member of one group; it keeps looking for its coordinator until it is answered."""

    def __init__(self, bootstrap: str, group: str) -> None:
        self._bootstrap = [_address(each) for each in bootstrap.split(",")]
        self._group = group
        self._connection: Connection | None = None
        self.member_id = ""
        self.generation = -1
        self.members = 0
        self.is_settled = False

    async def join(self) -> None:
        """Until it has its part of an assignment."""
        self.is_settled = False
        while not self.is_settled:
            answer: JoinGroupResponse = await self._ask(self._join_request(), _JOIN)
            if answer.error_code == KafkaCode.NONE:
                self.member_id, self.generation = answer.member_id, answer.generation_id
                await self._sync(answer)
            elif answer.error_code == KafkaCode.MEMBER_ID_REQUIRED:
                self.member_id = answer.member_id
            elif answer.error_code == KafkaCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""

    async def stay(self) -> None:
        """As a consumer does: show signs of life, and join again when the group changes."""
        while True:
            if await self.heartbeat() is KafkaCode.NONE:
                await asyncio.sleep(_LOOK_S)
            else:
                await self.join()

    async def heartbeat(self) -> KafkaCode:
        request = HeartbeatRequest(group_id=self._group, generation_id=self.generation, member_id=self.member_id)
        return KafkaCode((await self._ask(request, _HEARTBEAT)).error_code)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _join_request(self) -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=SESSION_MS,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )

    async def _sync(self, joined: JoinGroupResponse) -> None:
        """The leader, who alone is told of the others, assigns."""
        shares = [SyncGroupRequestAssignment(member_id=each.member_id, assignment=b"share") for each in joined.members]
        request = SyncGroupRequest(
            group_id=self._group,
            generation_id=self.generation,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=shares,
        )
        answer = await self._ask(request, _SYNC)
        self.members = len(shares)
        self.is_settled = answer.error_code == KafkaCode.NONE

    async def _ask(self, request: Any, version: int) -> Any:
        while True:
            try:
                connection = await self._coordinator()
                answer = await connection.call(request, version, timeout_s=TIMEOUT_S)
            except (OSError, ConnectionLostError):
                self._connection = None
            else:
                if answer.error_code not in _ASK_AGAIN:
                    return answer
                self.close()
                self._connection = None
            await asyncio.sleep(_RETRY_S)

    async def _coordinator(self) -> Connection:
        if self._connection is not None and self._connection.is_open:
            return self._connection
        for host, port in self._bootstrap:
            try:
                asked = await Connection.open(host, port, client_id="bench", timeout_s=TIMEOUT_S)
            except OSError:
                continue
            try:
                found = await asked.call(FindCoordinatorRequest(key=self._group), _FIND, timeout_s=TIMEOUT_S)
            finally:
                asked.close()
            if found.error_code == KafkaCode.NONE:
                self._connection = await Connection.open(found.host, found.port, client_id="bench", timeout_s=TIMEOUT_S)
                return self._connection
        raise OSError(f"nobody knows the coordinator of {self._group}")


_ASK_AGAIN = frozenset(
    {
        KafkaCode.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaCode.COORDINATOR_NOT_AVAILABLE,
        KafkaCode.NOT_COORDINATOR,
    }
)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)
