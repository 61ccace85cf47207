"""LeaderAndIsr and StopReplica: which word of a controller counts, and what follows from it."""

import asyncio
import urllib.request
import uuid
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.support.batches import plain
from tests.support.data_wire import fetch, produce
from tests.support.fake_controller import FakeController
from tests.support.waiting import eventually
from tidelog.kafka.errors import KafkaCode
from tidelog.net.connection import Connection
from tidelog.rpc import types_pb2
from tidelog.runtime.grpc_edge.failures import CODE_KEY


def refusal(call: Any) -> int:
    """The Kafka code with which a whole call is refused."""
    with pytest.raises(grpc.RpcError) as refused:
        call()
    metadata = refused.value.trailing_metadata() or ()
    return next(int(entry.value) for entry in metadata if entry.key == CODE_KEY)


def state_of(controller: FakeController, topic: types_pb2.TopicState, **fields: Any) -> types_pb2.TopicState:
    changed = types_pb2.TopicState(name=topic.name, topic_id=topic.topic_id)
    changed.partitions.append(controller.state(0, **fields))
    return changed


def code(controller: FakeController, topic: types_pb2.TopicState, **fields: Any) -> int:
    return int(controller.lead(state_of(controller, topic, **fields)).partitions[0].error_code)


def test_requests_of_a_deposed_controller_are_refused_whole(controller: FakeController, topic: str) -> None:
    known = controller.create(topic)
    controller.controller_epoch += 1
    assert code(controller, known, leader_epoch=1) == 0
    controller.controller_epoch -= 1
    stale = KafkaCode.STALE_CONTROLLER_EPOCH
    assert refusal(lambda: controller.lead(known)) == stale
    assert refusal(lambda: controller.stop(topic)) == stale
    assert refusal(controller.update_metadata) == stale
    controller.controller_epoch += 1
    controller.update_metadata()


def test_requests_for_an_earlier_incarnation_are_refused_whole(controller: FakeController, topic: str) -> None:
    known = controller.create(topic)
    assert refusal(lambda: controller.lead(known, broker_epoch=1)) == KafkaCode.STALE_BROKER_EPOCH
    assert refusal(lambda: controller.stop(topic, broker_epoch=1)) == KafkaCode.STALE_BROKER_EPOCH
    assert code(controller, known, leader_epoch=1) == 0
    again = state_of(controller, known, leader_epoch=2)
    assert controller.lead(again, broker_epoch=-1).partitions[0].error_code == 0


def test_a_leader_epoch_that_is_not_newer_is_refused(controller: FakeController, topic: str) -> None:
    known = controller.create(topic, leader_epoch=5)
    assert [code(controller, known, leader_epoch=epoch) for epoch in (4, 5, 6)] == [
        KafkaCode.STALE_CONTROLLER_EPOCH,
        KafkaCode.STALE_CONTROLLER_EPOCH,
        0,
    ]


def test_another_topic_id_and_a_foreign_partition_are_refused(controller: FakeController, topic: str) -> None:
    known = controller.create(topic)
    other = types_pb2.TopicState(name=topic, topic_id=uuid.uuid4().bytes)
    assert code(controller, other, leader_epoch=1) == KafkaCode.INCONSISTENT_TOPIC_ID
    assert code(controller, known, leader_epoch=1, replicas=[8, 9], leader=8) == KafkaCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_follower_refuses_writes_and_serves_what_it_has(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    known = controller.create(topic, replicas=[1, 7], isr=[1])
    await produce(connection, topic, bytes(plain()), acks=1)
    assert code(controller, known, leader_epoch=1, leader=7, replicas=[1, 7], isr=[7]) == 0
    assert (await produce(connection, topic, bytes(plain()))).error_code == KafkaCode.NOT_LEADER_OR_FOLLOWER
    assert (await fetch(connection, topic, version=10)).error_code == KafkaCode.NOT_LEADER_OR_FOLLOWER
    assert (await fetch(connection, topic, version=11)).high_watermark == 1


async def test_a_leader_elected_again_writes_its_epoch_into_the_batches(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    known = controller.create(topic)
    await produce(connection, topic, bytes(plain()))
    assert code(controller, known, leader_epoch=3) == 0
    await produce(connection, topic, bytes(plain()))
    records = (await fetch(connection, topic)).records or b""
    half = len(records) // 2
    assert [int.from_bytes(records[at + 12 : at + 16], "big") for at in (0, half)] == [0, 3]


async def test_too_few_in_sync_replicas(controller: FakeController, connection: Connection, topic: str) -> None:
    controller.create(topic, replicas=[1, 7], isr=[1], configs={"min.insync.replicas": "2"})
    refused = await produce(connection, topic, bytes(plain()))
    assert (refused.error_code, refused.base_offset) == (KafkaCode.NOT_ENOUGH_REPLICAS, -1)
    assert (await produce(connection, topic, bytes(plain()), acks=1)).base_offset == 0
    assert (await fetch(connection, topic)).high_watermark == 0, "below the minimum nothing is committed"


async def test_a_write_that_is_not_committed_in_time(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic, replicas=[1, 7], isr=[1, 7])
    late = await produce(connection, topic, bytes(plain()), timeout_ms=300)
    assert late.error_code == KafkaCode.REQUEST_TIMED_OUT
    got = await fetch(connection, topic)
    assert (got.high_watermark, got.records) == (0, b"")


async def test_a_follower_that_fetches_commits_what_it_has(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic, replicas=[1, 7], isr=[1, 7])
    assert (await produce(connection, topic, bytes(plain()), acks=1)).error_code == 0
    first = await fetch(connection, topic, 0, replica_id=7)
    assert len(first.records or b"") > 0, "a follower reads up to the end of the log"
    assert first.high_watermark == 0
    second = await fetch(connection, topic, 1, replica_id=7)
    assert second.high_watermark == 1


def test_a_deleted_partition_leaves_no_directory_under_its_name(
    controller: FakeController, topic: str, data_dir: Path
) -> None:
    controller.create(topic)
    assert (data_dir / f"{topic}-0").is_dir()
    assert (data_dir / f"{topic}-0" / "partition.metadata").read_text().startswith("version: 0\ntopic_id: ")
    controller.delete(topic)
    assert not (data_dir / f"{topic}-0").exists()
    again = controller.create(topic)
    assert again.topic_id


def test_stopping_without_deleting_keeps_the_data(controller: FakeController, topic: str, data_dir: Path) -> None:
    known = controller.create(topic, leader_epoch=4)
    fenced = controller.stop(topic, leader_epoch=3, delete=False)
    assert fenced.partitions[0].error_code == KafkaCode.FENCED_LEADER_EPOCH
    assert controller.stop(topic, leader_epoch=4, delete=False).partitions[0].error_code == 0
    assert (data_dir / f"{topic}-0").is_dir()
    assert code(controller, known, leader_epoch=5) == 0


def test_stopping_what_is_not_hosted_is_no_error(controller: FakeController) -> None:
    assert controller.stop("never-heard-of").partitions[0].error_code == 0


async def test_a_changed_topic_config_holds_at_once(
    controller: FakeController, connection: Connection, topic: str
) -> None:
    controller.create(topic, configs={"max.message.bytes": "200"})
    large = bytes(plain(b"x" * 500))
    assert (await produce(connection, topic, large)).error_code == KafkaCode.MESSAGE_TOO_LARGE
    zk = controller.zookeeper.client
    zk.set(f"/config/topics/{topic}", b'{"version":1,"config":{"max.message.bytes":"5000"}}')
    change = b'{"version":2,"entity_path":"topics/%s"}' % topic.encode()
    zk.create("/config/changes/config_change_", change, sequence=True)
    for _ in range(500):
        if not (await produce(connection, topic, large)).error_code:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the change was not heard of")


async def test_flush_messages_is_waited_for(controller: FakeController, connection: Connection, topic: str) -> None:
    controller.create(topic, configs={"flush.messages": "1"})
    for number in range(3):
        answer = await produce(connection, topic, bytes(plain()), acks=1)
        assert (answer.error_code, answer.base_offset) == (0, number)


def test_metrics_have_the_names_of_kafka(controller: FakeController, topic: str) -> None:
    controller.create(topic, partitions=2)

    def text() -> str:
        with urllib.request.urlopen(f"http://{controller.broker.http}/metrics", timeout=10) as page:
            return str(page.read().decode())

    page = eventually(text)
    assert f'kafka_server_brokertopicmetrics_bytesin_total{{topic="{topic}"}} 0.0' in page
    assert f'kafka_log_log_logendoffset{{topic="{topic}",partition="1"}} 0.0' in page
    for name in (
        "kafka_server_replicamanager_leadercount",
        "kafka_server_replicamanager_underreplicatedpartitions",
        "kafka_log_logmanager_offlinelogdirectorycount",
        'tidelog_log_directory_free_bytes{directory="',
        'tidelog_log_directory_size_bytes{directory="',
        'kafka_server_delayedoperationpurgatory_purgatorysize{delayedOperation="Fetch"}',
    ):
        assert name in page
