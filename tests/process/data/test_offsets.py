"""Offsets by time and epoch, deleted records, log directories and producers, as a real broker tells them."""

import asyncio
from pathlib import Path

import pytest

from tests.support.batches import batch, plain
from tests.support.data_wire import fetch, produce, values
from tests.support.fake_controller import FakeController
from tests.support.waiting import WAIT_S
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.record import Record
from tidelog.kafka.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tidelog.kafka.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from tidelog.kafka.wire.messages.describe_producers import DescribeProducersRequest, DescribeProducersTopic
from tidelog.kafka.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tidelog.kafka.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tidelog.kafka.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tidelog.net.connection import Connection

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4
KEEP = {"retention.ms": "-1"}


async def listed(
    connection: Connection, topic: str, timestamp: int, *, version: int = 7, epoch: int = -1
) -> ListOffsetsPartitionResponse:
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp, current_leader_epoch=epoch, max_num_offsets=9)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=topic, partitions=[asked])])
    answer = await connection.call(request, version, timeout_s=WAIT_S)
    (found,) = answer.topics[0].partitions
    return found


async def at(connection: Connection, topic: str, timestamp: int, *, version: int = 7) -> tuple[int, int, int]:
    found = await listed(connection, topic, timestamp, version=version)
    return found.error_code, found.offset, found.timestamp


async def fill(controller: FakeController, connection: Connection, topic: str) -> None:
    """Timestamps by offset: 1000 3000 2000 | 2500 3000 | 5000 4000, the last batch compressed."""
    controller.create(topic, configs=KEEP)
    for codec, times in ((0, (1000, 3000, 2000)), (0, (2500, 3000)), (1, (5000, 4000))):
        data = batch(*[Record(None, b"v", time_ms) for time_ms in times], codec=Codec(codec))
        assert (await produce(connection, topic, data)).error_code == 0


@pytest.mark.parametrize("version", range(1, 9))
async def test_offsets_by_time_and_the_ends(
    controller: FakeController, connection: Connection, topic: str, version: int
) -> None:
    await fill(controller, connection, topic)
    expected = {
        LATEST: (0, 7, -1),
        EARLIEST: (0, 0, -1),
        0: (0, 0, 1000),
        1001: (0, 1, 3000),
        3001: (0, 5, 5000),
        5000: (0, 5, 5000),
        5001: (0, -1, -1),
    }
    assert {time_ms: await at(connection, topic, time_ms, version=version) for time_ms in expected} == expected


async def test_special_timestamps_and_the_versions_that_know_them(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    await fill(controller, connection, topic)
    assert await at(connection, topic, MAX_TIMESTAMP) == (0, 5, 5000)
    assert await at(connection, topic, EARLIEST_LOCAL, version=8) == (0, 0, -1)
    for timestamp, version in ((MAX_TIMESTAMP, 6), (EARLIEST_LOCAL, 7), (-5, 8), (-99, 8)):
        assert await at(connection, topic, timestamp, version=version) == (KafkaCode.UNSUPPORTED_VERSION, -1, -1)


async def test_version_0_gives_the_starts_of_segments(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    await fill(controller, connection, topic)
    assert (await listed(connection, topic, LATEST, version=0)).old_style_offsets == [7, 0]
    assert (await listed(connection, topic, EARLIEST, version=0)).old_style_offsets == [0]


async def test_offsets_of_what_is_not_here_and_of_another_epoch(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic, leader_epoch=2)
    assert (await listed(connection, "missing", LATEST)).error_code == KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
    codes = [(await listed(connection, topic, LATEST, epoch=epoch)).error_code for epoch in (1, 2, 3)]
    assert codes == [KafkaCode.FENCED_LEADER_EPOCH, 0, KafkaCode.UNKNOWN_LEADER_EPOCH]
    assert (await listed(connection, topic, LATEST)).leader_epoch == 2


async def test_a_partition_asked_twice_is_refused(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic)
    twice = [ListOffsetsPartition(partition_index=0, timestamp=time_ms) for time_ms in (LATEST, EARLIEST)]
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=topic, partitions=twice)])
    answer = await connection.call(request, 7, timeout_s=WAIT_S)
    assert {one.error_code for one in answer.topics[0].partitions} == {KafkaCode.INVALID_REQUEST}


async def test_each_epoch_ends_where_the_next_begins(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    state = controller.create(topic)
    await produce(connection, topic, bytes(plain(count=3)))
    state.partitions[0].CopyFrom(controller.state(0, leader_epoch=4))
    assert controller.lead(state).partitions[0].error_code == 0
    await produce(connection, topic, bytes(plain(count=2)))

    async def end(epoch: int, current: int = -1) -> tuple[int, int, int]:
        asked = OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current)
        request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=[asked])])
        (found,) = (await connection.call(request, 4, timeout_s=WAIT_S)).topics[0].partitions
        return found.error_code, found.leader_epoch, found.end_offset

    assert [await end(epoch) for epoch in (0, 2, 4, 5, -1)] == [
        (0, 0, 3),
        (0, 0, 3),
        (0, 4, 5),
        (0, -1, -1),
        (0, -1, -1),
    ]
    assert await end(0, current=0) == (KafkaCode.FENCED_LEADER_EPOCH, -1, -1)


# ---- deleting


async def delete(connection: Connection, topic: str, offset: int, *, version: int = 2) -> tuple[int, int]:
    asked = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[asked])], timeout_ms=1000)
    (found,) = (await connection.call(request, version, timeout_s=WAIT_S)).topics[0].partitions
    return found.error_code, found.low_watermark


@pytest.mark.parametrize("version", range(3))
async def test_deleted_records_are_out_of_range(
    controller: FakeController, connection: Connection, topic: str, version: int
) -> None:
    await fill(controller, connection, topic)
    assert await delete(connection, topic, 3, version=version) == (0, 3)
    assert (await fetch(connection, topic, 2)).error_code == KafkaCode.OFFSET_OUT_OF_RANGE
    assert (await fetch(connection, topic, 3)).log_start_offset == 3
    assert await at(connection, topic, EARLIEST) == (0, 3, -1)
    assert await delete(connection, topic, 1) == (0, 3), "the start never moves back"
    assert await delete(connection, topic, -1) == (0, 7)
    assert (await produce(connection, topic, bytes(plain()))).log_start_offset == 7


async def test_deletions_that_are_refused(controller: FakeController, connection: Connection, topic: str) -> None:
    await fill(controller, connection, topic)
    for offset in (8, 2**60, -2):
        assert await delete(connection, topic, offset) == (KafkaCode.OFFSET_OUT_OF_RANGE, -1)
    assert await delete(connection, "missing", 0) == (KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    compacted = f"{topic}-compacted"
    controller.create(compacted, configs={"cleanup.policy": "compact"})
    assert await delete(connection, compacted, 0) == (KafkaCode.POLICY_VIOLATION, -1)


async def test_deletions_do_not_wait_for_a_replica_on_a_dead_broker(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic, replicas=[1, 1001], isr=[1])
    await produce(connection, topic, bytes(plain()))
    assert await delete(connection, topic, 1) == (0, 1), "the other replica is on no live broker"


# ---- descriptions and producers


async def test_log_dirs_are_described(
    controller: FakeController, connection: Connection, topic: str, data_dir: Path
) -> None:
    controller.create(topic, partitions=2)
    data = bytes(plain())
    await produce(connection, topic, data, 1)
    asked = DescribableLogDirTopic(topic=topic, partitions=[1])
    (found,) = (await connection.call(DescribeLogDirsRequest(topics=[asked]), 4, timeout_s=WAIT_S)).results
    assert (found.error_code, found.log_dir) == (0, str(data_dir))
    assert found.total_bytes > found.usable_bytes > 0
    assert [(one.partition_index, one.partition_size) for one in found.topics[0].partitions] == [(1, len(data))]
    (everything,) = (await connection.call(DescribeLogDirsRequest(topics=None), 1, timeout_s=WAIT_S)).results
    assert {one.partition_index for t in everything.topics if t.name == topic for one in t.partitions} == {0, 1}


async def test_producers_are_described(controller: FakeController, connection: Connection, topic: str) -> None:
    controller.create(topic)
    for sequence in range(2):
        await produce(connection, topic, batch(Record(None, b"v", 5), producer=(4711, 3), sequence=sequence))
    asked = DescribeProducersTopic(name=topic, partition_indexes=[0, 7])
    found, missing = (
        (await connection.call(DescribeProducersRequest(topics=[asked]), 0, timeout_s=WAIT_S)).topics[0].partitions
    )
    (state,) = found.active_producers
    assert (state.producer_id, state.producer_epoch, state.last_sequence, state.last_timestamp) == (4711, 3, 1, 5)
    assert state.current_txn_start_offset == -1
    assert missing.error_code == KafkaCode.UNKNOWN_TOPIC_OR_PARTITION


async def init(connection: Connection, version: int = 4) -> InitProducerIdResponse:
    """Ask again while the broker fetches its next block of ids, as clients do."""
    while True:
        answer = await connection.call(InitProducerIdRequest(transaction_timeout_ms=1), version, timeout_s=WAIT_S)
        if answer.error_code != KafkaCode.COORDINATOR_LOAD_IN_PROGRESS:
            return answer
        await asyncio.sleep(0.01)


async def test_every_producer_gets_an_id_of_its_own(controller: FakeController, connection: Connection) -> None:
    answers = [await init(connection, version) for version in range(6) for _ in range(10)]
    assert {(answer.error_code, answer.producer_epoch) for answer in answers} == {(0, 0)}
    assert len({answer.producer_id for answer in answers}) == len(answers)
    assert controller.broker.id == 1


async def test_requests_for_producer_ids_that_make_no_sense(controller: FakeController, connection: Connection) -> None:
    bad = [
        InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1),
        InitProducerIdRequest(transaction_timeout_ms=1, producer_id=5),
    ]
    for request in bad:
        answer = await connection.call(request, 4, timeout_s=WAIT_S)
        assert (answer.error_code, answer.producer_id) == (KafkaCode.INVALID_REQUEST, -1)
    assert controller.broker.id == 1


async def test_the_search_by_time_starts_at_the_log_start(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    await fill(controller, connection, topic)
    assert await delete(connection, topic, 2) == (0, 2)
    assert await at(connection, topic, 0) == (0, 2, 2000), "inside of the batch that starts at 0"
    assert len(values(await fetch(connection, topic, 2))) == 7, "batches come whole"
