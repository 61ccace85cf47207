"""Records reach all replicas before they are acknowledged, and only as many as must are waited for."""

import signal
import time

import pytest

from tests.support.replicated import Replicated
from tests.support.waiting import eventually, never
from tidelog.kafka.errors import KafkaCode

# A follower that stops counts as lagging soon; Kafka's default of 30 s would make a long test.
SHORT_LAG = {"replica_lag_time_max_ms": "1500", "replica_fetch_wait_max_ms": "300"}


def test_what_is_acknowledged_is_in_all_three_logs(cluster: Replicated) -> None:
    topic = cluster.create("t", 1, 2, 3)
    for number in range(20):
        assert cluster.produce(topic, str(number).encode()) is KafkaCode.NONE
    assert len(cluster.logs(topic)) == 1, "acks=all: nobody lags behind what is acknowledged"
    assert cluster.read(topic, 20) == [str(number).encode() for number in range(20)]
    assert cluster.isr(topic) == {1, 2, 3}


def test_a_killed_follower_leaves_the_in_sync_set_and_comes_back_into_it(cluster: Replicated) -> None:
    topic = cluster.create("t", 1, 2, 3)
    assert cluster.produce(topic, b"before") is KafkaCode.NONE
    cluster.brokers[3].kill()
    eventually(lambda: cluster.isr(topic) == {1, 2})
    for _ in range(50):
        assert cluster.produce(topic, b"without it") is KafkaCode.NONE
    cluster.brokers[3].start().wait_ready()
    assert cluster.isr(topic) == {1, 2, 3}, "a broker is ready when it has caught up"
    assert cluster.leader(topic) == 1
    assert cluster.produce(topic, b"with it") is KafkaCode.NONE
    assert len(cluster.logs(topic)) == 1


@pytest.mark.parametrize("settings", [SHORT_LAG], indirect=True)
def test_a_follower_that_hangs_is_waited_for_only_so_long(cluster: Replicated) -> None:
    topic = cluster.create("t", 1, 2, 3)
    assert cluster.produce(topic, b"before") is KafkaCode.NONE
    cluster.brokers[3].signal(signal.SIGSTOP)
    try:
        assert cluster.produce(topic, b"held up, then committed without it") is KafkaCode.NONE
        assert cluster.isr(topic) == {1, 2}
    finally:
        cluster.brokers[3].signal(signal.SIGCONT)
    eventually(lambda: cluster.isr(topic) == {1, 2, 3})


def test_too_few_in_sync_replicas_refuse_acks_all_and_only_that(cluster: Replicated) -> None:
    topic = cluster.create("t", 1, 2, 3, configs={"min.insync.replicas": "2"})
    for id in (2, 3):
        cluster.brokers[id].kill()
    eventually(lambda: cluster.isr_known_to(1, topic) == {1})
    assert cluster.produce(topic, b"refused") is KafkaCode.NOT_ENOUGH_REPLICAS
    assert cluster.produce(topic, b"taken", acks=1) is KafkaCode.NONE
    cluster.brokers[2].start().wait_ready()
    assert cluster.produce(topic, b"taken as well") is KafkaCode.NONE
    assert cluster.read(topic, 2) == [b"taken", b"taken as well"]


def test_a_new_topic_takes_its_first_record_without_waiting_for_fetches_under_way(cluster: Replicated) -> None:
    cluster.create("busy", 1, 2, 3)
    assert cluster.produce("busy", b"x") is KafkaCode.NONE
    spent = []
    for number in range(5):
        topic = cluster.create(f"new-{number}", 1, 2, 3)
        started = time.monotonic()
        assert cluster.produce(topic, b"first") is KafkaCode.NONE
        spent.append(time.monotonic() - started)
    assert min(spent) < 0.4, "a parked fetch of half a second does not hold up partitions that join"


def test_idle_partitions_stay_in_sync(cluster: Replicated) -> None:
    topic = cluster.create("t", 1, 2, 3)
    never(lambda: cluster.isr(topic) != {1, 2, 3}, 2.0)
