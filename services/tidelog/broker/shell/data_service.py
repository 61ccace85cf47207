"""Produce, Fetch and ListOffsets over gRPC: the data path of the Kafka wire in another coat, for small programs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from tidelog.broker.core.fetch_session import FINAL_EPOCH, NO_SESSION, FetchedPartition
from tidelog.broker.log.reading import Isolation
from tidelog.broker.shell.offset_lookup import look_up
from tidelog.broker.shell.partition import CONSUMER, Reader
from tidelog.broker.wire.hot_fetch_request import FetchAsked
from tidelog.kafka.errors import PROPERTIES, KafkaCode, KafkaError
from tidelog.rpc import broker_pb2, types_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.shell.data_path import DataPath
    from tidelog.broker.wire.hot_fetch_answer import FetchAnswer, PartitionAnswer
    from tidelog.broker.wire.hot_produce import Produced

T = TypeVar("T")

# The newest versions of the Kafka APIs that tell topics by name: their rules are those that hold here.
_FETCH_VERSION = 12
_LIST_OFFSETS_VERSION = 8
# A message of gRPC is built in memory, and by default its receiver takes no more than 4 MB.
_FETCH_BYTES_MAX = 3 * 1024 * 1024
_PARTITION_BYTES = 1024 * 1024


class DataService:
    """What the Broker service does about records."""

    def __init__(self, data: DataPath) -> None:
        self._data = data

    async def produce(self, request: broker_pb2.ProduceRequest) -> broker_pb2.ProduceResponse:
        producing = self._data.producing
        production = producing.begin(request.acks, None)
        for one in request.partitions:
            producing.append(production, one.topic.encode(), one.partition, memoryview(one.records))
        answers = production.answers
        if production.awaited is not None:
            waited: asyncio.Future[list[Produced]] = asyncio.get_running_loop().create_future()
            producing.wait(production, request.timeout_ms, _once(waited))
            answers = await waited
        return broker_pb2.ProduceResponse(partitions=[_produced(answer) for answer in answers])

    async def fetch(self, request: broker_pb2.FetchRequest) -> broker_pb2.FetchResponse:
        isolation = Isolation.COMMITTED if request.read_committed else Isolation.HIGH_WATERMARK
        waited: asyncio.Future[FetchAnswer] = asyncio.get_running_loop().create_future()
        answer = self._data.fetching.fetch(
            _fetch_asked(request),
            Reader(CONSUMER, isolation, leader_only=False),
            _FETCH_VERSION,
            lambda _: _once(waited),
        )
        if answer is None:
            answer = await waited
        return broker_pb2.FetchResponse(partitions=[_fetched(one) for one in answer.partitions])

    def list_offsets(self, request: broker_pb2.ListOffsetsRequest) -> broker_pb2.ListOffsetsResponse:
        isolation = Isolation.COMMITTED if request.read_committed else Isolation.HIGH_WATERMARK
        return broker_pb2.ListOffsetsResponse(partitions=[self._listed(one, isolation) for one in request.partitions])

    def _listed(self, asked: broker_pb2.ListOffsetsPartition, isolation: Isolation) -> broker_pb2.ListedOffset:
        try:
            partition = self._data.partitions.named(asked.topic, asked.partition)
            found = look_up(partition, asked.timestamp_ms, isolation, asked.current_leader_epoch, _LIST_OFFSETS_VERSION)
        except KafkaError as refusal:
            result = _result(asked.topic, asked.partition, refusal.code, refusal.message)
            return broker_pb2.ListedOffset(result=result, timestamp_ms=-1, offset=-1, leader_epoch=-1)
        return broker_pb2.ListedOffset(
            result=_result(asked.topic, asked.partition),
            timestamp_ms=found.timestamp,
            offset=found.offset,
            leader_epoch=found.leader_epoch,
        )

    def alter_replica_log_dirs(
        self, request: broker_pb2.AlterReplicaLogDirsRequest
    ) -> broker_pb2.AlterReplicaLogDirsResponse:
        return broker_pb2.AlterReplicaLogDirsResponse(partitions=[self._move(one) for one in request.replicas])

    def _move(self, asked: broker_pb2.ReplicaLogDir) -> types_pb2.PartitionResult:
        try:
            self._data.moves.move(asked.topic, asked.partition, asked.path)
        except KafkaError as refusal:
            return _result(asked.topic, asked.partition, refusal.code, refusal.message)
        return _result(asked.topic, asked.partition)


def _once(waited: asyncio.Future[T]) -> Callable[[T], None]:
    """Whoever called may have gone away in the meantime."""

    def respond(answer: T) -> None:
        if not waited.done():
            waited.set_result(answer)

    return respond


def _fetch_asked(request: broker_pb2.FetchRequest) -> FetchAsked:
    partitions = [
        FetchedPartition(
            (one.topic.encode(), one.partition),
            one.fetch_offset,
            one.partition_max_bytes or _PARTITION_BYTES,
            one.current_leader_epoch,
        )
        for one in request.partitions
    ]
    return FetchAsked(
        CONSUMER,
        request.max_wait_ms,
        request.min_bytes,
        min(request.max_bytes or _FETCH_BYTES_MAX, _FETCH_BYTES_MAX),
        0,
        NO_SESSION,
        FINAL_EPOCH,
        partitions,
        [],
        "",
    )


def _produced(answer: Produced) -> broker_pb2.ProducedPartition:
    return broker_pb2.ProducedPartition(
        result=_result(answer.topic.decode(), answer.partition, answer.error_code, answer.error_message or ""),
        base_offset=answer.base_offset,
        log_append_time_ms=answer.log_append_time_ms,
        log_start_offset=answer.log_start_offset,
    )


def _fetched(answer: PartitionAnswer) -> broker_pb2.FetchedPartition:
    aborted = [
        broker_pb2.AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
        for one in answer.aborted or ()
    ]
    return broker_pb2.FetchedPartition(
        result=_result(answer.topic.decode(), answer.partition, answer.error_code),
        high_watermark=answer.high_watermark,
        last_stable_offset=answer.last_stable_offset,
        log_start_offset=answer.log_start_offset,
        aborted_transactions=aborted,
        records=b"" if answer.records is None else answer.records.read(),
    )


def _result(topic: str, partition: int, code: int = KafkaCode.NONE, message: str = "") -> types_pb2.PartitionResult:
    text = message or (PROPERTIES[KafkaCode(code)].text if code else "")
    return types_pb2.PartitionResult(topic=topic, partition=partition, error_code=code, error_message=text)
