"""What every client is made of: its connections, its metadata, and calls that insist."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Self, TypeVar

from tidelog.client.configs.client import ClientConfig
from tidelog.client.core.cluster import NO_LEADER, ClusterView
from tidelog.client.errors import ClosedError, IllegalStateError, NoBrokerError, RequestTimeoutError
from tidelog.client.shell.connections import NETWORK_FAULTS, Connections, Link
from tidelog.client.shell.metadata import Metadata
from tidelog.kafka.errors import PROPERTIES, KafkaCode, KafkaError

if TYPE_CHECKING:
    from tidelog.client.shell.metadata_watch import MetadataWatch

T = TypeVar("T")

# A transaction that is still being ended, say, is ready again after a few milliseconds.
_SHORT_PAUSE_MS = 20
_RETRIES_MAX = 2**31 - 1


class Client:
    """Opened by `start` or `async with`, closed by `close`; only in between it may be used."""

    config: ClientConfig
    connections: Connections
    metadata: Metadata

    def __init__(self, config: ClientConfig) -> None:
        self.config = config
        self._state = "new"
        self._watch: MetadataWatch | None = None

    async def start(self) -> Self:
        """Open it: find a broker and learn the cluster from it. Raises NoBrokerError if there is none."""
        if self._state != "new":
            raise IllegalStateError(f"{type(self).__name__} was started before")
        self._state = "open"
        view = ClusterView()
        self.connections = Connections(self.config, view)
        self.metadata = Metadata(self.config, self.connections, view, creates_topics=self._creates_topics())
        try:
            await self.metadata.refresh(self._start_timeout_ms())
        except BaseException:
            await self.close()
            raise
        if self.config.metadata_endpoints:
            # Imported only here: most clients can do without gRPC.
            from tidelog.client.shell.metadata_watch import MetadataWatch

            self._watch = MetadataWatch(self.config, self.metadata)
        return self

    async def close(self) -> None:
        """Give everything back. Closing twice is no fault."""
        if self._state == "open":
            self._state = "closed"
            if self._watch is not None:
                await self._watch.close()
            await self.metadata.close()
            await self.connections.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def check_open(self) -> None:
        """Raise ClosedError or IllegalStateError unless the client may be used."""
        if self._state == "closed":
            raise ClosedError(f"{type(self).__name__} is closed")
        if self._state != "open":
            raise IllegalStateError(f"{type(self).__name__} is not started: use `async with`, or await start()")

    def _creates_topics(self) -> bool:
        return True

    def _start_timeout_ms(self) -> int:
        return self.config.request_timeout_ms

    def _retries(self) -> int:
        """How often `insist` tries again; as a rule only the time is bounded."""
        return _RETRIES_MAX

    # ---- calls that insist

    async def insist(self, attempt: Callable[[], Awaitable[T]], timeout_ms: int) -> T:
        """Try until it succeeds, fails for good, or the time is over; pauses grow as `retry.backoff.ms` says."""
        deadline = time.monotonic() + timeout_ms / 1000
        pause_ms = self.config.retry_backoff_ms
        retries_left = self._retries()
        while True:
            try:
                async with asyncio.timeout_at(
                    asyncio.get_running_loop().time() + max(0.0, deadline - time.monotonic())
                ):
                    return await attempt()
            except (KafkaError, NoBrokerError, *NETWORK_FAULTS) as error:
                if not retries_left:
                    raise
                retries_left -= 1
                self._give_up_or_go_on(error, deadline, pause_ms, timeout_ms)
            await asyncio.sleep(pause_ms / 1000)
            pause_ms = min(pause_ms * 2, self.config.retry_backoff_max_ms)

    def _give_up_or_go_on(self, error: Exception, deadline: float, pause_ms: int, timeout_ms: int) -> None:
        if isinstance(error, KafkaError):
            if not PROPERTIES[error.code].retriable:
                raise error
            if PROPERTIES[error.code].refreshes_metadata:
                self.metadata.request()
        else:
            self.metadata.request()
        if time.monotonic() + pause_ms / 1000 >= deadline:
            if isinstance(error, KafkaError):
                raise error
            raise RequestTimeoutError(
                f"not done within {timeout_ms} ms; the last attempt failed with: {error}"
            ) from error

    async def back_off(self) -> None:
        """Between two attempts that were both answered."""
        await asyncio.sleep(min(self.config.retry_backoff_ms, _SHORT_PAUSE_MS) / 1000)

    async def any_broker(self) -> Link:
        return await self.connections.any_link(self.config.request_timeout_ms)

    async def controller(self) -> Link:
        """The link to the controller as brokers name it; any broker passes on to it where they name none."""
        controller_id = self.metadata.view.controller_id
        if controller_id == NO_LEADER or controller_id not in self.metadata.view.nodes:
            raise KafkaError(KafkaCode.NOT_CONTROLLER, "no controller is known")
        return await self.connections.link(controller_id)
