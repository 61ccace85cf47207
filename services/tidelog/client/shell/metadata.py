"""Keeps the client's view of the cluster fresh: on request, when it is old, and with a pause between failed attempts."""

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from tidelog.client.configs.client import ClientConfig
from tidelog.client.core.cluster import ClusterView, TopicInfo
from tidelog.client.errors import NoBrokerError, RequestTimeoutError
from tidelog.client.shell.connections import NETWORK_FAULTS, Connections
from tidelog.kafka.errors import PROPERTIES, KafkaError
from tidelog.kafka.wire.messages.metadata import MetadataRequest, MetadataRequestTopic


class Metadata:
    """The view, the topics it is about, and the task that fetches it."""

    def __init__(
        self, config: ClientConfig, connections: Connections, view: ClusterView, *, creates_topics: bool = True
    ) -> None:
        self.view = view
        self.listeners: list[Callable[[], None]] = []
        self._config = config
        self._connections = connections
        self._creates_topics = creates_topics
        self._topics: set[str] = set()
        self._wants_all = False
        # Set whenever the topics that it is about are others than before.
        self.follows_others = asyncio.Event()
        self._wanted = asyncio.Event()
        # Nobody has asked for these topics before, so there is no reason to wait as between two attempts.
        self._has_new_topics = asyncio.Event()
        self._updated: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asked = 0
        self._answered = 0
        self._failures = 0
        self._fetched_at = 0.0
        self._task = asyncio.create_task(self._keep_fresh())

    # ---- what it is about

    def follow(self, topics: Iterable[str], *, only: bool = False) -> bool:
        """Keep these topics in view, besides the others or instead of them; True if some were not."""
        wanted = set(topics)
        new = wanted - self._topics
        self._topics = wanted if only else self._topics | wanted
        if only:
            self._wants_all = False
        if new or only:
            self._on_other_topics()
        return bool(new)

    def follow_all(self) -> None:
        if not self._wants_all:
            self._wants_all = True
            self._on_other_topics()

    def _on_other_topics(self) -> None:
        self._has_new_topics.set()
        self.follows_others.set()

    def followed(self) -> list[str] | None:
        """The topics that it is about; None stands for all there are."""
        return None if self._wants_all else sorted(self._topics)

    def take_push(self, topics: Iterable[TopicInfo]) -> None:
        """Learn what a metadata process has said, and ask a broker for what that leaves open."""
        outcome = self.view.take_push(topics)
        if outcome.has_news:
            self._tell()
        if outcome.is_incomplete:
            self.request()

    # ---- fetching

    def request(self) -> int:
        """Have it fetched soon; gives a number that `wait_for` takes."""
        self._asked += 1
        self._wanted.set()
        return self._asked

    async def refresh(self, timeout_ms: int) -> None:
        """Wait for an answer to a request that is made from now on."""
        await self.wait_for(self.request(), timeout_ms)

    async def wait_for(self, asked: int, timeout_ms: int) -> None:
        """Wait for the answer to a request. Raises RequestTimeoutError, or NoBrokerError if there never was one."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                while self._answered < asked:
                    await self._next_update()
        except TimeoutError:
            raise self._too_late(timeout_ms) from None

    async def topic(self, name: str, timeout_ms: int) -> TopicInfo:
        """A topic with its partitions. Raises what is wrong with it for good, or RequestTimeoutError."""
        self.follow([name])
        deadline = time.monotonic() + timeout_ms / 1000
        while True:
            known = self.view.topics.get(name)
            if known is not None and known.partitions and not known.error:
                return known
            if known is not None and known.error and not PROPERTIES[known.error].retriable:
                raise KafkaError(known.error, f"topic {name}: {PROPERTIES[known.error].text}")
            left_ms = int((deadline - time.monotonic()) * 1000)
            try:
                await self.refresh(max(left_ms, 0))
            except NoBrokerError:
                raise
            except RequestTimeoutError:
                raise RequestTimeoutError(f"topic: {name} is not known after {timeout_ms} ms") from None

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._updated.cancel()

    # ---- the task

    async def _next_update(self) -> None:
        await asyncio.shield(self._updated)

    async def _keep_fresh(self) -> None:
        while True:
            await self._until_due()
            asked = self._asked
            self._wanted.clear()
            self._has_new_topics.clear()
            if await self._fetch_once():
                self._failures = 0
                self._answered = asked
                self._tell()
            else:
                self._failures += 1
                self._wanted.set()

    async def _until_due(self) -> None:
        """Until somebody asks or the view is old, and never more often than the backoff allows."""
        pause_ms = min(self._config.retry_backoff_ms << min(self._failures, 10), self._config.retry_backoff_max_ms)
        pause_s = self._fetched_at + pause_ms / 1000 - time.monotonic()
        if self._fetched_at and pause_s > 0:
            await self._pause(pause_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._config.metadata_max_age_ms / 1000):
                await self._wanted.wait()

    async def _pause(self, seconds: float) -> None:
        if self._failures:
            await asyncio.sleep(seconds)
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._has_new_topics.wait()

    async def _fetch_once(self) -> bool:
        all_topics = self._wants_all
        topics = None if all_topics else [MetadataRequestTopic(name=name) for name in sorted(self._topics)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=self._creates_topics and not all_topics)
        self._fetched_at = time.monotonic()
        try:
            link = await self._connections.any_link(self._config.request_timeout_ms)
            response = await link.call(request)
        except (NoBrokerError, *NETWORK_FAULTS):
            return False
        if not response.brokers:
            return False
        self.view.take_in(response, all_topics=all_topics)
        self._fetched_at = time.monotonic()
        return True

    def _tell(self) -> None:
        updated, self._updated = self._updated, asyncio.get_running_loop().create_future()
        updated.set_result(None)
        for listener in self.listeners:
            listener()

    def _too_late(self, timeout_ms: int) -> RequestTimeoutError:
        if self.view.version == 0:
            servers = ",".join(self._config.bootstrap_servers)
            return NoBrokerError(f"bootstrap.servers: none of {servers} answered within {timeout_ms} ms")
        return RequestTimeoutError(f"no metadata within {timeout_ms} ms")
