"""Leaders that die or stop while a real producer writes: it goes on, and nothing that was acknowledged is lost."""

import time

from tests.support.replicated import Replicated, Writer
from tests.support.waiting import eventually, never
from tidelog.kafka.errors import KafkaCode

MIN_ISR_2 = {"min.insync.replicas": "2"}


def check(cluster: Replicated, topic: str, writer: Writer) -> None:
    acked = writer.stop()
    assert not writer.errors
    assert cluster.read(topic, len(acked)) == [str(number).encode() for number in range(len(acked))]


def test_a_killed_leader_is_replaced_and_nothing_is_lost(cluster: Replicated) -> None:
    topic = cluster.create("t", 1, 2, 3, configs=MIN_ISR_2)
    writer = Writer(cluster.bootstrap, topic)
    writer.wait_for(200)
    cluster.brokers[1].kill()
    eventually(lambda: cluster.leader(topic) == 2)
    assert cluster.state(topic)["leader_epoch"] >= 1
    writer.wait_for(200)
    cluster.brokers[1].start().wait_ready()
    assert cluster.isr(topic) == {1, 2, 3}
    writer.wait_for(200)
    check(cluster, topic, writer)
    eventually(lambda: len(cluster.logs(topic)) == 1)


def test_a_leader_that_is_told_to_stop_hands_over_first(cluster: Replicated) -> None:
    topic = cluster.create("t", 1, 2, 3, configs=MIN_ISR_2)
    writer = Writer(cluster.bootstrap, topic)
    writer.wait_for(200)
    assert cluster.brokers[1].stop() == 0
    state = cluster.state(topic)
    assert (state["leader"], state["isr"], state["leader_epoch"]) == (2, [2, 3], 1), "moved once, and not joined again"
    assert "leaderships handed over" in cluster.brokers[1].text()
    writer.wait_for(200)
    check(cluster, topic, writer)


def test_the_last_broker_of_a_cluster_stops_without_waiting_for_anybody(cluster: Replicated) -> None:
    topic = cluster.create("t", 1, 2, 3)
    started = time.monotonic()
    for id in (1, 2, 3):
        assert cluster.brokers[id].stop() == 0
    assert time.monotonic() - started < 12, "nobody could take over from the last one"
    assert cluster.isr(topic) == {3}


def test_a_follower_that_was_restarted_takes_over_with_everything(cluster: Replicated) -> None:
    """What a follower has not yet been told to be committed is not cut off when it restarts."""
    topic = cluster.create("t", 1, 2)
    for number in range(10):
        assert cluster.produce(topic, str(number).encode()) is KafkaCode.NONE
    cluster.brokers[2].kill()
    cluster.brokers[2].start().wait_ready()
    cluster.brokers[1].kill()
    eventually(lambda: cluster.leader(topic) == 2)
    assert cluster.read(topic, 10) == [str(number).encode() for number in range(10)]


def lost_leader(cluster: Replicated, topic: str) -> None:
    """One record on both, one on broker 1 alone, which is then gone while broker 2 comes back."""
    assert cluster.produce(topic, b"on both") is KafkaCode.NONE
    cluster.brokers[2].kill()
    eventually(lambda: cluster.isr(topic) == {1})
    assert cluster.produce(topic, b"on one") is KafkaCode.NONE
    cluster.brokers[1].kill()
    eventually(lambda: cluster.leader(topic) == -1)
    cluster.brokers[2].start().wait_ready()


def test_a_replica_that_is_not_in_sync_does_not_lead(cluster: Replicated) -> None:
    topic = cluster.create("t", 1, 2)
    lost_leader(cluster, topic)
    never(lambda: cluster.leader(topic) != -1, 1.0)
    cluster.brokers[1].start().wait_ready()
    eventually(lambda: cluster.leader(topic) == 1 and cluster.isr(topic) == {1, 2})
    assert cluster.read(topic, 2) == [b"on both", b"on one"]


def test_an_unclean_leader_leads_where_the_topic_allows_it_and_the_old_one_is_cut_back(cluster: Replicated) -> None:
    topic = cluster.create("t", 1, 2, configs={"unclean.leader.election.enable": "true"})
    lost_leader(cluster, topic)
    eventually(lambda: cluster.leader(topic) == 2)
    assert cluster.produce(topic, b"instead") is KafkaCode.NONE
    cluster.brokers[1].start().wait_ready()
    assert cluster.isr(topic) == {1, 2}
    assert cluster.produce(topic, b"after") is KafkaCode.NONE
    assert cluster.read(topic, 3) == [b"on both", b"instead", b"after"]
    assert "log truncated" in cluster.brokers[1].text()
