"""Metadata that is pushed: listens to a metadata process, so that a client learns of a new leader at once.

Brokers are asked all the same. This only makes them be asked sooner, and mostly spares it.
"""

import asyncio
import logging
import random
from contextlib import aclosing
from uuid import UUID

from tidelog.client.configs.client import ClientConfig
from tidelog.client.core.cluster import NO_LEADER, PartitionInfo, TopicInfo
from tidelog.client.shell.metadata import Metadata
from tidelog.kafka.errors import KafkaError
from tidelog.rpc import metadata_pb2, metadata_pb2_grpc, types_pb2
from tidelog.runtime.grpc_edge import CallFailed, Channel, connect

_log = logging.getLogger("tidelog.client")


class MetadataWatch:
    """One stream at a time, from whichever of `metadata.endpoints` answers."""

    def __init__(self, config: ClientConfig, metadata: Metadata) -> None:
        self._config = config
        self._metadata = metadata
        self._task = asyncio.create_task(self._watch())

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        endpoints = list(self._config.metadata_endpoints)
        random.shuffle(endpoints)
        while True:
            for endpoint in endpoints:
                try:
                    await self._listen(endpoint)
                except (KafkaError, CallFailed) as error:
                    _log.info("metadata is not pushed by %s: %s", endpoint, error)
                await asyncio.sleep(self._config.reconnect_backoff_max_ms / 1000)

    async def _listen(self, endpoint: str) -> None:
        """Until the endpoint is gone. Whenever other topics are followed, the stream begins anew."""
        async with connect(endpoint) as channel:
            while True:
                self._metadata.follows_others.clear()
                reading = asyncio.create_task(self._read(channel, _request(self._metadata.followed())))
                waiting = asyncio.create_task(self._metadata.follows_others.wait())
                try:
                    await asyncio.wait({reading, waiting}, return_when=asyncio.FIRST_COMPLETED)
                    if reading.done():
                        return reading.result()
                finally:
                    reading.cancel()
                    waiting.cancel()
                    await asyncio.gather(reading, waiting, return_exceptions=True)

    async def _read(self, channel: Channel, request: metadata_pb2.WatchMetadataRequest) -> None:
        stub = metadata_pb2_grpc.MetadataStub(channel.grpc)
        async with aclosing(channel.stream(stub.WatchMetadata, request)) as stream:
            async for told in stream:
                self._metadata.take_push([_topic(each) for each in told.topics])


def _request(followed: list[str] | None) -> metadata_pb2.WatchMetadataRequest:
    return metadata_pb2.WatchMetadataRequest(topics=followed or (), without_topics=followed == [])


def _topic(told: types_pb2.TopicState) -> TopicInfo:
    partitions = {
        each.partition: PartitionInfo(
            told.name,
            each.partition,
            max(each.leader, NO_LEADER),
            each.leader_epoch,
            tuple(each.replicas),
            tuple(each.isr),
            tuple(each.offline_replicas),
        )
        for each in told.partitions
    }
    return TopicInfo(told.name, UUID(bytes=told.topic_id), is_internal=False, partitions=partitions)
