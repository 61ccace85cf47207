"""A client on a plain blocking socket that can speak Kafka properly, or send anything at all."""

import itertools
import struct
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from tests.support.batches import plain
from tests.support.services import Service
from tests.support.wire_server import Client
from tidelog.kafka.wire.headers import encode_request, response_body_at
from tidelog.kafka.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.kafka.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from tidelog.kafka.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from tidelog.kafka.wire.schema import Request, Response

R = TypeVar("R", bound=Response)


class WireClient(Client):
    """One connection to a broker; calls are answered one at a time."""

    def __init__(self, broker: Service, client_id: str = "test") -> None:
        super().__init__(int(broker.kafka.rpartition(":")[2]))
        self._client_id = client_id
        self._correlation_ids = itertools.count(1)

    def call(self, request: Request[R], version: int) -> R:
        return self.answer_to(request, version, self.ask(request, version))

    def ask(self, request: Request[Any], version: int) -> int:
        """Send a request; gives its correlation id."""
        correlation_id = next(self._correlation_ids)
        self.send_raw(encode_request(request, version, correlation_id, self._client_id))
        return correlation_id

    def answer_to(self, request: Request[R], version: int, correlation_id: int) -> R:
        frame = self.receive()
        assert frame[:4] == struct.pack(">i", correlation_id)
        response = cast("type[R]", request.api.response)
        return response.decode(version, frame, response_body_at(frame, request.api, version))

    def produce(self, topic: str, data: bytes | None = None, *, acks: int = -1) -> PartitionProduceResponse:
        """Produce one batch, or anything, to partition 0."""
        records = bytes(plain()) if data is None else data
        answer = self.call(produce_request(topic, records, acks=acks), 9)
        return answer.responses[0].partition_responses[0]

    def fetch(self, topic: str, **fields: Any) -> PartitionData:
        answer = self.call(fetch_request(topic, **fields), 11)
        return answer.responses[0].partitions[0]


def produce_request(topic: str, records: bytes, *, acks: int = -1) -> ProduceRequest:
    partition = PartitionProduceData(index=0, records=records)
    return ProduceRequest(
        acks=acks, timeout_ms=5000, topic_data=[TopicProduceData(name=topic, partition_data=[partition])]
    )


def fetch_request(topic: str, *, max_bytes: int = 50_000_000, max_wait_ms: int = 0) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=max_bytes)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )


def create(client: WireClient, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
    """A new topic with one replica."""
    entries = [CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()]
    wanted = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=entries)
    answer = client.call(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000), 5)
    assert [one.error_code for one in answer.topics] == [0]
