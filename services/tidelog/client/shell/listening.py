"""The consumers behind one annotated function: they poll, call it, send its replies and commit what it has dealt with.

Nothing is committed before the function has returned for it. If the function raises, the record is given to it again, ten
times in all, and then left out with a line in the log; an error handler of its own decides otherwise.
"""

import asyncio
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tidelog.client.consumer import Consumer
from tidelog.client.core.listener_spec import (
    CORRELATION_HEADER,
    ListenerSpec,
    header,
    replies,
    reply_topic,
)
from tidelog.client.errors import ClientError, IllegalStateError, KafkaError
from tidelog.client.records import ConsumerRecord, Header, TopicPartition

if TYPE_CHECKING:
    from tidelog.client.producer import Producer

_log = logging.getLogger("tidelog.client.listener")

_ATTEMPTS = 10
_POLL_MS = 500
# After a fault of the cluster, as opposed to one of the function.
_PAUSE_S = 1.0

GetProducer = Callable[[], Awaitable["Producer"]]


class ListenerContainer:
    """One annotated function with its consumers."""

    def __init__(self, spec: ListenerSpec, settings: Mapping[str, Any], get_producer: GetProducer) -> None:
        self.spec = spec
        self._settings = settings
        self._get_producer = get_producer
        self._tasks: list[asyncio.Task[None]] = []
        self._consumers: dict[int, Consumer] = {}
        self._is_paused = False
        self._is_stopping = False

    @property
    def is_running(self) -> bool:
        return bool(self._tasks)

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    def assignment(self) -> frozenset[TopicPartition]:
        """What its consumers read at the moment."""
        return frozenset(each for consumer in self._consumers.values() for each in consumer.assignment())

    def start(self) -> None:
        if self._tasks:
            raise IllegalStateError(f"listener {self.spec.id} is running")
        # Settings that are wrong are told to whoever starts it, not to the log again and again.
        self._make_consumer(0)
        self._is_stopping = False
        self._tasks = [asyncio.create_task(self._run(number)) for number in range(self.spec.concurrency)]

    async def stop(self) -> None:
        """Let the function finish what it has in hand, commit it, and leave the group."""
        self._is_stopping = True
        tasks, self._tasks = self._tasks, []
        await asyncio.gather(*tasks)

    def pause(self) -> None:
        """Give the function nothing more; its consumers stay in the group."""
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False

    # ---- one consumer

    async def _run(self, number: int) -> None:
        while not self._is_stopping:
            try:
                await self._consume(number)
            except (KafkaError, ClientError) as error:
                _log.warning("listener %s starts over: %s", self.spec.id, error)
                await asyncio.sleep(_PAUSE_S)
            finally:
                self._consumers.pop(number, None)

    async def _consume(self, number: int) -> None:
        async with self._make_consumer(number) as consumer:
            self._subscribe(consumer, number)
            self._consumers[number] = consumer
            while not self._is_stopping:
                self._apply_pause(consumer)
                await self._handle_all(consumer, await consumer.poll(_POLL_MS))

    def _make_consumer(self, number: int) -> Consumer:
        spec = self.spec
        prefix = spec.client_id_prefix or spec.id
        settings: dict[str, Any] = {
            **self._settings,
            "client.id": f"{prefix}-{number}",
            **{name.replace("_", "."): value for name, value in spec.properties.items()},
            "enable.auto.commit": False,
        }
        if spec.group_id is not None:
            settings["group.id"] = spec.group_id
        return Consumer(settings)

    def _subscribe(self, consumer: Consumer, number: int) -> None:
        if not self.spec.topic_partitions:
            topics = self.spec.topics or None
            consumer.subscribe(topics, pattern=self.spec.topic_pattern)
            return
        share = self.spec.share(number)
        consumer.assign([partition for partition, _ in share])
        for partition, offset in share:
            if offset is not None:
                consumer.seek(partition, offset)

    def _apply_pause(self, consumer: Consumer) -> None:
        if self._is_paused:
            consumer.pause(*consumer.assignment())
        elif consumer.paused():
            consumer.resume(*consumer.paused())

    # ---- records

    async def _handle_all(self, consumer: Consumer, polled: Mapping[TopicPartition, list[ConsumerRecord]]) -> None:
        for partition, records in polled.items():
            if partition not in consumer.assignment():
                continue
            done = await self._handle(records)
            if done < len(records):
                consumer.seek(partition, records[done].offset)
            if done and self.spec.group_id is not None:
                with suppress(KafkaError):
                    await consumer.commit({partition: records[done - 1].offset + 1})

    async def _handle(self, records: list[ConsumerRecord]) -> int:
        """How many of these records are dealt with."""
        if self.spec.is_batch:
            return len(records) if await self._deal_with(records, records[-1]) else 0
        for done, record in enumerate(records):
            if self._is_stopping or self._is_paused or not await self._deal_with(record, record):
                return done
        return len(records)

    async def _deal_with(self, given: Any, last: ConsumerRecord) -> bool:
        """Call the function until it, or its error handler, returns."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await self._reply(await _called(self.spec.function, given), last)
            except (KafkaError, ClientError):
                raise
            except Exception as error:  # noqa: BLE001  the function is the application's
                if self.spec.error_handler is not None:
                    return await self._ask_handler(self.spec.error_handler, given, error)
                _log.warning("listener %s failed, attempt %d", self.spec.id, attempt, exc_info=error)
            else:
                return True
        _log.error("listener %s leaves out %s-%d offset %d", self.spec.id, last.topic, last.partition, last.offset)
        return True

    async def _ask_handler(self, handler: Callable[..., Any], given: Any, error: Exception) -> bool:
        try:
            await _called(handler, given, error)
        except Exception as again:  # noqa: BLE001  the handler is the application's
            _log.warning(
                "the error handler of listener %s raised, so the record comes again", self.spec.id, exc_info=again
            )
            await asyncio.sleep(_PAUSE_S)
            return False
        return True

    async def _reply(self, result: Any, record: ConsumerRecord) -> None:
        wanted = replies(result, split_iterables=self.spec.split_iterables)
        topic = reply_topic(self.spec.send_to, record)
        if not wanted or topic is None:
            return
        correlation = header(record, CORRELATION_HEADER)
        headers: list[Header] = [] if correlation is None else [(CORRELATION_HEADER, correlation)]
        producer = await self._get_producer()
        await asyncio.gather(
            *(producer.send(topic, _encoded(each), key=record.key, headers=headers) for each in wanted)
        )


async def _called(function: Callable[..., Any], *given: Any) -> Any:
    """A plain function is called in a thread, so that it may take its time."""
    if inspect.iscoroutinefunction(function):
        return await function(*given)
    return await asyncio.to_thread(function, *given)


def _encoded(value: Any) -> bytes:
    """Bytes and text as they are, anything else as JSON."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    return (value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))).encode()
