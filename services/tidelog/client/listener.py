"""Functions that are called with records: `@listener` makes a function a managed consumer, the registry runs it.

@listener(topics="orders", group_id="billing")
async def bill(record: ConsumerRecord) -> None:
    ...

async with registry.running(bootstrap_servers="127.0.0.1:9092"):
    await asyncio.Event().wait()
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from tidelog.client.core.listener_spec import (
    CORRELATION_HEADER,
    REPLY_TOPIC_HEADER,
    ErrorHandler,
    ListenerSpec,
    names,
    partitions_with_offsets,
    wants_batches,
)
from tidelog.client.errors import WrongArgumentError
from tidelog.client.producer import Producer
from tidelog.client.records import TopicPartition
from tidelog.client.shell.listening import ListenerContainer

__all__ = ["CORRELATION_HEADER", "REPLY_TOPIC_HEADER", "ListenerContainer", "ListenerRegistry", "listener", "registry"]

F = TypeVar("F", bound=Callable[..., Any])


class ListenerRegistry:
    """All annotated functions by id: started, stopped, paused and resumed one by one or together."""

    def __init__(self) -> None:
        self._specs: dict[str, ListenerSpec] = {}
        self._containers: dict[str, ListenerContainer] = {}
        self._settings: dict[str, Any] = {}
        self._producer: asyncio.Task[Producer] | None = None

    def add(self, spec: ListenerSpec) -> None:
        if spec.id in self._specs:
            raise WrongArgumentError(f"id: there is a listener {spec.id} already")
        self._specs[spec.id] = spec

    def ids(self, container_group: str | None = None) -> list[str]:
        """The ids of all listeners, or of those of a group of containers."""
        wanted = self._specs.values()
        return [each.id for each in wanted if container_group is None or each.container_group == container_group]

    def get(self, id: str) -> ListenerContainer:
        """The container of a listener, for looking at it."""
        spec = self._specs.get(id)
        if spec is None:
            raise WrongArgumentError(f"id: there is no listener {id}; there are {', '.join(self._specs) or 'none'}")
        if id not in self._containers:
            self._containers[id] = ListenerContainer(spec, self._settings, self._get_producer)
        return self._containers[id]

    @asynccontextmanager
    async def running(
        self, settings: Mapping[str, Any] | None = None, **given: Any
    ) -> AsyncIterator["ListenerRegistry"]:
        """Start every listener that starts by itself, with these settings of consumers; stop all at the end."""
        self._settings.clear()
        self._settings.update(settings or {})
        self._settings.update({name.replace("_", "."): value for name, value in given.items()})
        try:
            for spec in self._specs.values():
                if spec.auto_startup:
                    self.start(spec.id)
            yield self
        finally:
            await self.close()

    def start(self, id: str) -> None:
        """Start a listener."""
        self.get(id).start()

    async def stop(self, id: str) -> None:
        """Stop a listener once it has dealt with what it has in hand."""
        await self.get(id).stop()

    def pause(self, id: str) -> None:
        """Give a listener nothing more; it stays in its group."""
        self.get(id).pause()

    def resume(self, id: str) -> None:
        self.get(id).resume()

    async def close(self) -> None:
        """Stop every listener."""
        await asyncio.gather(*(each.stop() for each in self._containers.values()))
        self._containers.clear()
        if self._producer is not None:
            task, self._producer = self._producer, None
            await (await task).close()

    async def _get_producer(self) -> Producer:
        """One producer sends the replies of all."""
        if self._producer is None:
            servers = self._settings.get("bootstrap.servers")
            self._producer = asyncio.create_task(Producer(bootstrap_servers=servers).start())
        return await asyncio.shield(self._producer)


# Where listeners are registered that name no other.
registry = ListenerRegistry()


def listener(
    *,
    topics: str | Iterable[str] | None = None,
    topic_pattern: str | None = None,
    topic_partitions: Mapping[TopicPartition, int | None] | Iterable[TopicPartition] | None = None,
    group_id: str | None = None,
    id: str | None = None,
    id_is_group: bool = True,
    concurrency: int = 1,
    auto_startup: bool = True,
    client_id_prefix: str | None = None,
    error_handler: ErrorHandler | None = None,
    container_group: str | None = None,
    split_iterables: bool = True,
    batch: bool | None = None,
    send_to: str | None = None,
    properties: Mapping[str, Any] | None = None,
    registry: ListenerRegistry = registry,
) -> Callable[[F], F]:
    """Have a function called with records, one by one or, if it takes a list of them, in batches.

    - `topics`, `topic_pattern` or `topic_partitions` (partitions, or a mapping to the offsets to start from): what to read.
    - `group_id`: the group; without it `id` is the group's, too, unless `id_is_group` is false.
    - `id`: the name in the registry; without it the function's own, with its module.
    - `concurrency`: how many consumers share the work; `client_id_prefix` names them (`prefix-0`, ...).
    - `auto_startup`: whether `registry.running` starts it; `container_group` names several at once.
    - `error_handler(given, error)`: called when the function raises; if it returns, the record is dealt with.
    - `batch`: whether the function takes lists; without it the annotation of its first parameter tells.
    - `send_to`: a topic for what the function returns; without it the record's header `kafka_replyTopic` may name one.
      Bytes and text go there as they are, anything else as JSON. `split_iterables` makes a returned list several records.
    - `properties`: further settings of its consumers.
    """

    def register(function: F) -> F:
        own_id = id or f"{function.__module__}.{function.__qualname__}"
        group = group_id or (id if id_is_group else None)
        registry.add(
            ListenerSpec(
                id=own_id,
                function=function,
                topics=names(topics),
                topic_pattern=topic_pattern,
                topic_partitions=partitions_with_offsets(topic_partitions),
                group_id=group,
                concurrency=concurrency,
                auto_startup=auto_startup,
                client_id_prefix=client_id_prefix,
                error_handler=error_handler,
                container_group=container_group,
                split_iterables=split_iterables,
                is_batch=wants_batches(function) if batch is None else batch,
                send_to=send_to,
                properties=dict(properties or {}),
            )
        )
        return function

    return register
