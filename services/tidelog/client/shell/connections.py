"""Connections to brokers: opened when first needed, their API versions negotiated, broken ones left alone for a while."""

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from tidelog.client.configs.client import ClientConfig
from tidelog.client.core.cluster import ClusterView
from tidelog.client.errors import ClosedError, NoBrokerError, UnsupportedVersionError
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.headers import encode_request, response_body_at
from tidelog.kafka.wire.messages.api_versions import API_VERSIONS, ApiVersionsRequest, ApiVersionsResponse
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.kafka.wire.schema import Api, Request, Response
from tidelog.kafka.wire.versions import Versions
from tidelog.net.connection import Connection, ConnectionLostError

R = TypeVar("R", bound=Response)
T = TypeVar("T")

# What tells that a broker, or the way to it, is gone. TimeoutError is an OSError.
NETWORK_FAULTS = (OSError, ConnectionLostError, MalformedMessage)

# How long a broker may take to answer before another one is tried beside it: it may just hang.
_PATIENCE_S = 0.2
_NEWEST_API_VERSIONS = 3
_SOFTWARE = ("tidelog-client", "0.1.0")


class Link:
    """A connection to one broker that knows what the broker speaks."""

    def __init__(self, connection: Connection, versions: dict[int, Versions], timeout_ms: int) -> None:
        self.connection = connection
        self._versions = versions
        self._timeout_s = timeout_ms / 1000
        # Produce requests that the sender has not got an answer for; acks=0 gets none and does not count.
        self.producing = 0

    @property
    def is_open(self) -> bool:
        return self.connection.is_open

    def version(self, api: Api, at_most: int = 32767) -> int:
        """The newest version that both sides speak."""
        offered = self._versions.get(api.key)
        if offered is None:
            raise UnsupportedVersionError(f"the broker does not offer {api.name}")
        newest = min(offered.high, api.versions.high, at_most)
        if newest < max(offered.low, api.versions.low):
            raise UnsupportedVersionError(
                f"the broker offers {api.name} in versions {offered}, and the client speaks {api.versions}"
            )
        return newest

    def offers(self, api: Api, at_least: int = 0) -> bool:
        offered = self._versions.get(api.key)
        return offered is not None and offered.high >= at_least

    async def call(self, request: Request[R], *, at_most: int = 32767, timeout_ms: int | None = None) -> R:
        """Ask and wait. A broker that does not answer in time is not asked anything more on this connection."""
        timeout_s = self._timeout_s if timeout_ms is None else timeout_ms / 1000
        try:
            return await self.connection.call(request, self.version(request.api, at_most), timeout_s=timeout_s)
        except TimeoutError:
            self.connection.close()
            raise


@dataclass(slots=True)
class _Trouble:
    """How often in a row a broker could not be reached, and when to try it again."""

    failures: int = 0
    retry_at: float = 0.0


@dataclass(slots=True)
class Connections:
    """All links of one client. `purpose` keeps apart what must not wait for each other, such as fetches and commits."""

    config: ClientConfig
    view: ClusterView
    _links: dict[tuple[int, str], Link] = field(default_factory=dict)
    _opening: dict[tuple[int, str], asyncio.Task[Link]] = field(default_factory=dict)
    _troubles: dict[tuple[str, int], _Trouble] = field(default_factory=dict)
    _bootstrap: Link | None = None
    _is_closed: bool = False

    def ready(self, node_id: int, purpose: str = "") -> Link | None:
        """The link to a broker if it is open."""
        link = self._links.get((node_id, purpose))
        return link if link is not None and link.is_open else None

    def is_opening(self, node_id: int, purpose: str = "") -> bool:
        return (node_id, purpose) in self._opening

    def retry_in_s(self, node_id: int) -> float:
        """How long a broker that could not be reached is still left alone."""
        node = self.view.nodes.get(node_id)
        trouble = self._troubles.get((node.host, node.port)) if node is not None else None
        return 0.0 if trouble is None else max(0.0, trouble.retry_at - time.monotonic())

    async def link(self, node_id: int, purpose: str = "") -> Link:
        """The link to a broker, opened if need be. Raises one of NETWORK_FAULTS."""
        found = self.ready(node_id, purpose)
        if found is not None:
            return found
        key = (node_id, purpose)
        opening = self._opening.get(key)
        if opening is None:
            opening = self._opening[key] = asyncio.create_task(self._open_node(node_id, purpose))
            opening.add_done_callback(lambda task: self._opened(key, task))
        return await asyncio.shield(opening)

    async def any_link(self, timeout_ms: int) -> Link:
        """A link to whichever broker answers: one in use, else any known one, else one of `bootstrap.servers`."""
        backoff_s = self.config.reconnect_backoff_ms / 1000
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while True:
                    link = await self._first_that_opens()
                    if link is not None:
                        return link
                    await asyncio.sleep(backoff_s)
                    backoff_s = min(backoff_s * 2, self.config.reconnect_backoff_max_ms / 1000)
        except TimeoutError:
            servers = ",".join(self.config.bootstrap_servers)
            raise NoBrokerError(
                f"bootstrap.servers: none of {servers} could be reached within {timeout_ms} ms"
            ) from None

    async def close(self) -> None:
        self._is_closed = True
        for task in list(self._opening.values()):
            task.cancel()
        links = [*self._links.values(), *([self._bootstrap] if self._bootstrap is not None else [])]
        for link in links:
            link.connection.close()
        for link in links:
            await link.connection.closed()

    # ---- opening

    async def _first_that_opens(self) -> Link | None:
        in_use = [link for link in self._links.values() if link.is_open]
        if in_use:
            return min(in_use, key=lambda link: link.connection.in_flight)
        ways: list[Callable[[], Coroutine[Any, Any, Link]]] = [
            partial(self.link, id) for id in _shuffled(self.view.nodes)
        ]
        ways += [partial(self._open_bootstrap, server) for server in _shuffled(self.config.bootstrap_servers)]
        return await _first_to_open(ways)

    async def _open_bootstrap(self, server: str) -> Link:
        if self._bootstrap is not None and self._bootstrap.is_open:
            return self._bootstrap
        host, _, port = server.rpartition(":")
        link = await self._open(host.strip("[]"), int(port))
        if self._bootstrap is not None and self._bootstrap.is_open:
            link.connection.close()  # another one was faster
        else:
            self._bootstrap = link
        return self._bootstrap

    async def _open_node(self, node_id: int, purpose: str) -> Link:
        node = self.view.nodes.get(node_id)
        if node is None:
            raise ConnectionLostError(f"broker {node_id} is not known")
        link = self._links[node_id, purpose] = await self._open(node.host, node.port)
        return link

    def _opened(self, key: tuple[int, str], task: asyncio.Task[Link]) -> None:
        self._opening.pop(key, None)
        if not task.cancelled():
            task.exception()  # whoever waits for it gets it; if nobody does any more, it is of no interest

    async def _open(self, host: str, port: int) -> Link:
        if self._is_closed:
            raise ClosedError("the client is closed")
        trouble = self._troubles.setdefault((host, port), _Trouble())
        timeout_s = self.config.socket_connection_setup_timeout_ms / 1000
        try:
            connection = await Connection.open(host, port, client_id=self.config.client_id, timeout_s=timeout_s)
            link = await _negotiated(connection, self.config.request_timeout_ms)
        except NETWORK_FAULTS:
            self._note_failure(trouble)
            raise
        trouble.failures = 0
        trouble.retry_at = 0.0
        return link

    def _note_failure(self, trouble: _Trouble) -> None:
        wait_ms = min(
            self.config.reconnect_backoff_ms << min(trouble.failures, 20), self.config.reconnect_backoff_max_ms
        )
        trouble.failures += 1
        trouble.retry_at = time.monotonic() + wait_ms / 1000 * random.uniform(0.8, 1.2)  # noqa: S311  no secret


def _shuffled(some: Iterable[T]) -> list[T]:
    each = list(some)
    random.shuffle(each)
    return each


async def _first_to_open(ways: list[Callable[[], Coroutine[Any, Any, Link]]]) -> Link | None:
    """Try one after the other, the next one when the former has failed or takes its time; None if all fail."""
    under_way: set[asyncio.Task[Link]] = set()
    left = deque(ways)
    try:
        while left or under_way:
            if left:
                under_way.add(asyncio.create_task(left.popleft()()))
            patience_s = _PATIENCE_S if left else None
            done, under_way = await asyncio.wait(under_way, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            for error in [task.exception() for task in done]:
                if error is not None and not isinstance(error, NETWORK_FAULTS):
                    raise error
            for task in done:
                if task.exception() is None:
                    return task.result()
    finally:
        for task in under_way:
            task.cancel()
    return None


async def _negotiated(connection: Connection, timeout_ms: int) -> Link:
    try:
        answer = await _api_versions(connection, timeout_ms)
    except BaseException:
        connection.close()
        raise
    versions = {each.api_key: Versions(each.min_version, each.max_version) for each in answer.api_keys}
    return Link(connection, versions, timeout_ms)


async def _api_versions(connection: Connection, timeout_ms: int) -> ApiVersionsResponse:
    answer = await _ask_versions(connection, _NEWEST_API_VERSIONS, timeout_ms)
    if answer.error_code == KafkaCode.UNSUPPORTED_VERSION:
        # An old broker answers a version that it does not know in version 0, and gets the question again in that.
        answer = await _ask_versions(connection, 0, timeout_ms)
    if answer.error_code:
        raise KafkaError(KafkaCode(answer.error_code))
    return answer


async def _ask_versions(connection: Connection, version: int, timeout_ms: int) -> ApiVersionsResponse:
    name, own_version = _SOFTWARE
    request = ApiVersionsRequest(client_software_name=name, client_software_version=own_version)
    correlation_id = connection.next_correlation_id()

    def read(frame: memoryview) -> ApiVersionsResponse:
        at = response_body_at(frame, API_VERSIONS, version)
        refused = int.from_bytes(frame[at : at + 2], "big", signed=True) == KafkaCode.UNSUPPORTED_VERSION
        return ApiVersionsResponse.decode(0 if refused else version, frame, at)

    frame = encode_request(request, version, correlation_id, connection.client_id)
    async with asyncio.timeout(timeout_ms / 1000):
        return await connection.exchange(correlation_id, read, frame)
