"""Fetch through a real broker: what comes back, limits, epochs, sessions, topic ids."""

from uuid import UUID, uuid4

import pytest

from tests.support.batches import plain
from tests.support.data_wire import fetch, fetch_all, fetch_request, host_and_port, produce, three_batches, values
from tests.support.fake_controller import FakeController
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.header import read_header, whole_batches
from tidelog.kafka.wire.headers import encode_request
from tidelog.kafka.wire.messages.fetch import FetchPartition, FetchRequest
from tidelog.net.connection import Connection, ConnectionLostError


@pytest.mark.parametrize("version", range(4, 17))
async def test_fetched_records_are_what_was_produced_in_every_version(
    controller: FakeController, connection: Connection, topic: str, version: int
) -> None:
    state = controller.create(topic)
    sent = bytes(plain(b"x" * 100, count=2))
    large = bytes(plain(b"y" * 100_000))
    await produce(connection, topic, sent)
    await produce(connection, topic, large)
    got = await fetch(connection, topic, version=version, topic_id=UUID(bytes=state.topic_id))
    assert (got.error_code, got.high_watermark, got.last_stable_offset) == (0, 3, 3)
    assert got.aborted_transactions is None
    records = got.records or b""
    assert len(records) == len(sent) + len(large)
    assert records[16 : len(sent)] == sent[16:], "only base offset and leader epoch are the broker's"
    assert records[len(sent) + 16 :] == large[16:]
    assert [header.base_offset for _, header in whole_batches(records)] == [0, 2]


@pytest.mark.parametrize("version", range(4))
async def test_fetch_before_record_batches_is_refused(
    controller: FakeController, connection: Connection, topic: str, version: int
) -> None:
    controller.create(topic)
    assert (await fetch(connection, topic, version=version)).error_code == KafkaCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(("offset", "first"), [(0, 0), (1, 0), (3, 3), (5, 3), (6, 6)])
async def test_batches_come_whole_from_the_one_that_holds_the_offset(
    controller: FakeController, connection: Connection, topic: str, offset: int, first: int
) -> None:
    controller.create(topic)
    await three_batches(connection, topic)
    got = await fetch(connection, topic, offset)
    assert read_header(got.records or b"").base_offset == first
    assert values(got)[-1] == b"6"


@pytest.mark.parametrize("offset", [8, 2**62, -1])
async def test_an_offset_outside_the_log(
    controller: FakeController, connection: Connection, topic: str, offset: int
) -> None:
    controller.create(topic)
    await three_batches(connection, topic)
    got = await fetch(connection, topic, offset)
    assert (got.error_code, got.records, got.high_watermark, got.last_stable_offset, got.log_start_offset) == (
        KafkaCode.OFFSET_OUT_OF_RANGE,
        b"",
        -1,
        -1,
        -1,
    )


async def test_the_end_of_the_log_and_read_committed(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic)
    await three_batches(connection, topic)
    at_end = await fetch(connection, topic, 7)
    assert (at_end.error_code, at_end.records, at_end.high_watermark) == (0, b"", 7)
    committed = await fetch(connection, topic, isolation_level=1)
    assert (committed.aborted_transactions, len(values(committed))) == ([], 7)


@pytest.mark.parametrize("version", [9, 11, 12, 15])
async def test_the_leader_epoch_must_be_the_current_one(
    controller: FakeController, connection: Connection, topic: str, version: int
) -> None:
    topic_id = UUID(bytes=controller.create(topic, leader_epoch=3).topic_id)
    codes = [
        (await fetch(connection, topic, version=version, leader_epoch=epoch, topic_id=topic_id)).error_code
        for epoch in (2, 3, 4)
    ]
    assert codes == [KafkaCode.FENCED_LEADER_EPOCH, 0, KafkaCode.UNKNOWN_LEADER_EPOCH]


async def test_a_position_that_diverges_is_told_where(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    state = controller.create(topic)
    await three_batches(connection, topic)
    state.partitions[0].CopyFrom(controller.state(0, leader_epoch=4))
    assert controller.lead(state).partitions[0].error_code == 0
    await three_batches(connection, topic)
    got = await fetch(connection, topic, 9, version=12, last_fetched_epoch=0)
    assert (got.error_code, got.records) == (0, b"")
    assert got.diverging_epoch is not None
    assert (got.diverging_epoch.epoch, got.diverging_epoch.end_offset) == (0, 7)
    assert values(await fetch(connection, topic, 7, version=12, last_fetched_epoch=0))
    unknown = await fetch(connection, topic, 7, version=12, last_fetched_epoch=9)
    assert unknown.error_code == KafkaCode.OFFSET_OUT_OF_RANGE


async def test_a_replica_that_is_not_assigned_is_refused(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic)
    for epoch, code in ((-1, KafkaCode.NOT_LEADER_OR_FOLLOWER), (0, KafkaCode.UNKNOWN_LEADER_EPOCH)):
        assert (await fetch(connection, topic, replica_id=4711, leader_epoch=epoch)).error_code == code


async def test_the_first_batch_comes_whole_however_small_the_limits(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic, partitions=3)
    for partition in range(3):
        await three_batches(connection, topic, partition)
    request = fetch_request(topic, max_bytes=1)
    request.topics[0].partitions = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1) for index in (2, 0, 1)
    ]
    answer = await fetch_all(connection, request)
    got = {one.partition_index: values(one) for one in answer.responses[0].partitions}
    assert got == {2: [b"0", b"1", b"2"], 0: [], 1: []}


async def test_a_session_answers_only_what_changed(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic, partitions=2)
    request = fetch_request(topic, session_epoch=0)
    request.topics[0].partitions = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=100_000) for index in range(2)
    ]
    first = await fetch_all(connection, request, 12)
    assert first.session_id > 0
    assert [one.partition_index for one in first.responses[0].partitions] == [0, 1]

    def incremental(epoch: int) -> FetchRequest:
        return FetchRequest(max_wait_ms=0, min_bytes=1, session_id=first.session_id, session_epoch=epoch)

    assert (await fetch_all(connection, incremental(1), 12)).responses == []
    await produce(connection, topic, bytes(plain(b"a")), 1)
    changed = await fetch_all(connection, incremental(2), 12)
    assert [(one.partition_index, values(one)) for one in changed.responses[0].partitions] == [(1, [b"a"])]
    wrong = await fetch_all(connection, incremental(9), 12)
    assert (wrong.error_code, wrong.session_id, wrong.responses) == (KafkaCode.INVALID_FETCH_SESSION_EPOCH, 0, [])


async def test_an_unknown_topic_id(controller: FakeController, connection: Connection, topic: str) -> None:
    controller.create(topic)
    answer = await fetch_all(connection, fetch_request(topic, topic_id=uuid4()), 13)
    assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (0, KafkaCode.UNKNOWN_TOPIC_ID)


async def test_a_malformed_request_closes_only_its_connection(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic)
    bad = await Connection.open(*host_and_port(controller), client_id="bad", timeout_s=10)
    whole = encode_request(fetch_request(topic), 11, 1, "bad")
    bad.send((len(whole) - 14).to_bytes(4, "big") + whole[4:-10])
    with pytest.raises(ConnectionLostError):
        await fetch(bad, topic)
    assert (await fetch(connection, topic)).error_code == 0
