"""The partitions of a broker on a disk of their own: roles, refusals, and a disk that fails."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.batches import plain
from tests.support.hosting_broker import TOPIC_ID, HostingBroker
from tidelog.kafka.cluster import PartitionView, TopicView
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import ControllerEpoch, LeaderEpoch, PartitionIndex, TopicName, TopicPartition

if TYPE_CHECKING:
    from tidelog.broker.wire.hot_produce import Produced

NAME = TopicPartition(TopicName("t"), PartitionIndex(0))


@pytest.fixture
def broker(tmp_path: Path) -> HostingBroker:
    return HostingBroker(tmp_path)


def refusal(call: Callable[[], object]) -> KafkaCode:
    with pytest.raises(KafkaError) as refused:
        call()
    return refused.value.code


def test_one_replica_commits_at_once(broker: HostingBroker) -> None:
    broker.apply()
    assert [broker.produce().base_offset for _ in range(3)] == [0, 1, 2]
    log = broker.partitions.named("t", 0).log
    assert (log.high_watermark, log.log_end_offset) == (3, 3)


def test_why_a_partition_is_not_here(broker: HostingBroker) -> None:
    missing = broker.partitions.missing
    assert missing(b"t", 0).code is KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
    assert missing(TOPIC_ID.bytes, 0, by_id=True).code is KafkaCode.UNKNOWN_TOPIC_ID
    elsewhere = PartitionView(0, 5, LeaderEpoch(3), (5,), (5,), controller_epoch=ControllerEpoch(1))
    broker.view.topics["t"] = TopicView("t", TOPIC_ID, {0: elsewhere})
    broker.view.topic_names[TOPIC_ID] = "t"
    assert missing(b"t", 0).code is missing(TOPIC_ID.bytes, 0, by_id=True).code is KafkaCode.NOT_LEADER_OR_FOLLOWER
    assert missing(b"t", 1).code is KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
    answer = broker.produce()
    assert (answer.error_code, answer.current_leader) == (KafkaCode.NOT_LEADER_OR_FOLLOWER, (5, 3))


def test_a_role_is_taken_once_for_each_leader_epoch(broker: HostingBroker) -> None:
    broker.apply(epoch=2)
    assert refusal(lambda: broker.apply(epoch=2)) is KafkaCode.STALE_CONTROLLER_EPOCH
    broker.apply(epoch=3, leader=5, replicas=(5, 1))
    partition = broker.partitions.named("t", 0)
    assert (partition.leader, partition.leader_epoch) == (None, 3)
    assert broker.replication.told[-1] == "follows 5"
    assert broker.produce().error_code == KafkaCode.NOT_LEADER_OR_FOLLOWER
    broker.apply(epoch=4, replicas=(5, 1), isr=(1,))
    assert partition.led().leader_epoch == 4
    assert [entry.epoch for entry in partition.log.epochs.entries] == [4], "the epoch starts without a record"


def test_a_failed_directory_takes_only_its_own_partitions_along(broker: HostingBroker) -> None:
    broker.apply(index=0)
    broker.apply(index=1)
    first, second = (broker.partitions.named("t", index).log for index in (0, 1))
    assert Path(first.directory).parent != Path(second.directory).parent, "spread over the directories"
    first.io_failed(OSError(errno.EIO, "Input/output error"))
    assert len(broker.storage.failed) == 1
    assert broker.produce(index=0).error_code == KafkaCode.KAFKA_STORAGE_ERROR
    assert broker.produce(index=1).error_code == KafkaCode.NONE
    assert refusal(lambda: broker.apply(epoch=1, index=0)) is KafkaCode.KAFKA_STORAGE_ERROR


def test_an_old_replica_is_not_made_anew_beside_a_failed_directory(broker: HostingBroker) -> None:
    broker.apply(index=0)
    broker.partitions.named("t", 0).log.io_failed(OSError(errno.EIO, "Input/output error"))
    assert refusal(lambda: broker.apply(index=1, is_new=False)) is KafkaCode.KAFKA_STORAGE_ERROR
    broker.apply(index=1, is_new=True)


def test_a_write_that_waits_is_answered_when_leadership_is_lost(broker: HostingBroker) -> None:
    broker.apply(replicas=(1, 5))
    production = broker.producing.begin(-1, None)
    broker.producing.append(production, b"t", 0, memoryview(plain()))
    assert production.awaited is not None
    answered: list[list[Produced]] = []
    broker.producing.wait(production, 10_000, answered.append)
    broker.apply(epoch=1, leader=5, replicas=(5, 1))
    assert not answered
    broker.run_soon()
    assert answered[0][0].error_code == KafkaCode.NOT_LEADER_OR_FOLLOWER


def everybody_is_told(broker: HostingBroker, leader: int, epoch: int) -> None:
    state = PartitionView(0, leader, LeaderEpoch(epoch), (leader,), (1, 5))
    broker.view.topics["t"] = TopicView("t", TOPIC_ID, {0: state})
    broker.partitions.stand_down(["t", "unknown"])


def test_a_leader_stands_down_when_everybody_is_told_of_a_later_one(broker: HostingBroker) -> None:
    """A broker that has lost ZooKeeper is not told its roles any more, but it hears who leads."""
    broker.apply(epoch=3, replicas=(1, 5))
    production = broker.producing.begin(-1, None)
    broker.producing.append(production, b"t", 0, memoryview(plain()))
    answered: list[list[Produced]] = []
    broker.producing.wait(production, 10_000, answered.append)
    everybody_is_told(broker, leader=5, epoch=3)
    everybody_is_told(broker, leader=1, epoch=4)
    assert broker.partitions.named("t", 0).leader is not None, "old news, or of its own next epoch"
    everybody_is_told(broker, leader=5, epoch=4)
    broker.run_soon()
    assert [one[0].error_code for one in answered] == [KafkaCode.NOT_LEADER_OR_FOLLOWER]
    assert answered[0][0].current_leader == (5, 4)
    broker.apply(epoch=4, leader=5, replicas=(5, 1))
    assert broker.replication.told[-1] == "follows 5", "its role in that epoch may come later"


def test_a_refusal_names_the_leader_of_the_role_that_was_told_and_never_the_one_that_refuses(
    broker: HostingBroker,
) -> None:
    """Roles are told before metadata. A client that is told of the leader it just asked looks no further."""
    broker.apply(epoch=3, replicas=(1, 5))
    everybody_is_told(broker, leader=1, epoch=3)
    assert broker.partitions.leader_of(b"t", 0) == (1, 3)
    broker.apply(epoch=4, leader=5, replicas=(5, 1))
    assert broker.partitions.leader_of(b"t", 0) == (5, 4)
    assert broker.partitions.leader_of(TOPIC_ID.bytes, 0, by_id=True) == (5, 4)
    everybody_is_told(broker, leader=7, epoch=6)
    assert broker.partitions.leader_of(b"t", 0) == (7, 6)
    broker.apply(epoch=7, leader=1, replicas=(1, 5))
    broker.partitions.stop("t", 0, 7, delete=False)
    assert broker.partitions.leader_of(b"t", 0) is None


def test_a_write_that_waits_is_answered_when_it_is_committed_or_late(broker: HostingBroker) -> None:
    broker.apply(replicas=(1, 5))
    answered: list[list[Produced]] = []
    for _ in range(2):
        production = broker.producing.begin(-1, None)
        broker.producing.append(production, b"t", 0, memoryview(plain()))
        broker.producing.wait(production, 1000, answered.append)
    partition = broker.partitions.named("t", 0)
    partition.on_changed(partition.led().on_follower_fetched(partition.replicas[1], 1, 0, broker.clock.monotonic_ms()))
    broker.run_soon()
    assert [(one[0].error_code, one[0].base_offset) for one in answered] == [(0, 0)]
    broker.clock.advance(1100)
    assert [one[0].error_code for one in answered] == [0, KafkaCode.REQUEST_TIMED_OUT]
    assert partition.log.log_end_offset == 2, "what was late is not taken back"


def test_stopping_and_deleting(broker: HostingBroker) -> None:
    broker.apply(epoch=5)
    assert refusal(lambda: broker.partitions.stop("t", 0, 4, delete=False)) is KafkaCode.FENCED_LEADER_EPOCH
    broker.partitions.stop("t", 0, -2, delete=True)
    assert broker.storage.store.get(NAME) is None
    assert len(broker.partitions) == 0
    broker.apply(epoch=0)
    assert broker.produce().base_offset == 0, "a new log"


def test_counters_are_kept_by_topic_and_forgotten_with_it(broker: HostingBroker) -> None:
    broker.apply()
    broker.produce()
    broker.produce(index=9)
    traffic = broker.partitions.traffic
    assert (traffic.of("t").messages_in, traffic.of("t").bytes_in) == (1, len(plain()))
    assert traffic.unknown.failed_produces == 1
    broker.partitions.stop("t", 0, -2, delete=True)
    assert traffic.topics == {}
