"""Brokers that die, stop and hang under load: whatever was acknowledged is there once, and in order."""

import time

import pytest

from tests.process.faults.conftest import SESSION_MS, Report
from tests.support.batches import batch
from tests.support.fault_cluster import FaultCluster, load_on, stopped
from tests.support.kafka_calls import call
from tests.support.waiting import eventually
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.record import Record
from tidelog.kafka.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

# A process may take half a minute to start on a busy machine.
pytestmark = pytest.mark.timeout(300)


def test_sigkill_of_the_leader(cluster: FaultCluster, report: Report) -> None:
    with load_on(cluster) as load:
        cluster.brokers[1].kill()
        eventually(lambda: 1 not in cluster.leaders())
        load.wait_for()
        cluster.whole_again()
        load.wait_for()
        assert report("SIGKILL of a leader", load).gap_s < 10


def test_sigterm_of_the_leader(cluster: FaultCluster, report: Report) -> None:
    with load_on(cluster) as load:
        assert cluster.brokers[1].stop() == 0
        assert 1 not in cluster.leaders()
        load.wait_for()
        cluster.whole_again()
        load.wait_for()
        assert report("SIGTERM of a leader", load).gap_s < 10


def test_sigkill_of_a_follower(cluster: FaultCluster, report: Report) -> None:
    topic = cluster.create(f"{cluster.topic}-led-by-1", (1, 2, 3), (1, 3, 2))
    with load_on(cluster, topic) as load:
        cluster.brokers[3].kill()
        eventually(lambda: all(state["isr"] == [1, 2] for state in cluster.states(topic)))
        assert cluster.leaders(topic) == [1, 1]
        load.wait_for()
        cluster.whole_again(topic)
        load.wait_for()
        assert report("SIGKILL of a follower", load).gap_s < 10


def answer_to_a_probe(cluster: FaultCluster, topic: str) -> KafkaCode:
    """What broker 3 makes of a record with acks=all."""
    data = PartitionProduceData(index=0, records=batch(Record(None, b"probe")))
    asked = [TopicProduceData(name=topic, partition_data=[data])]
    answer = call(cluster.brokers[3], ProduceRequest(acks=-1, timeout_ms=1000, topic_data=asked), 9)
    return KafkaCode(answer.responses[0].partition_responses[0].error_code)


def test_sigkill_of_two_of_three(cluster: FaultCluster, report: Report) -> None:
    probes = cluster.create(f"{cluster.topic}-probes", (3, 1, 2))
    too_few = (KafkaCode.NOT_ENOUGH_REPLICAS, KafkaCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    with load_on(cluster) as load:
        for id in (1, 2):
            cluster.brokers[id].kill()
        eventually(lambda: cluster.leaders() == [3, 3, 3, 3])
        eventually(lambda: answer_to_a_probe(cluster, probes) in too_few)
        before = load.acked
        time.sleep(1.0)
        assert load.acked == before, "one replica alone acknowledges nothing"
        cluster.whole_again()
        load.wait_for()
        assert report("SIGKILL of two of three, then both come back", load).gap_s < 90


def test_sigkill_of_all_at_once(cluster: FaultCluster, report: Report) -> None:
    with load_on(cluster) as load:
        for broker in cluster.brokers.values():
            broker.kill()
        cluster.whole_again()
        load.wait_for()
        assert report("SIGKILL of all three, then all come back", load).gap_s < 90


def test_sigstop_of_the_leader_past_its_session(cluster: FaultCluster, report: Report) -> None:
    with load_on(cluster) as load:
        with stopped(cluster.brokers[1]):
            eventually(lambda: 1 not in cluster.leaders())
            time.sleep(1.0)
        # It wakes up as a leader, with requests in its sockets, and must not acknowledge any of them.
        load.wait_for()
        eventually(cluster.is_in_sync)
        load.wait_for()
        assert report(f"SIGSTOP of a leader past its session ({SESSION_MS} ms)", load).gap_s < 90


def test_a_follower_restarts_and_then_the_leader_dies(cluster: FaultCluster, report: Report) -> None:
    """Who has just come back knows an old high watermark only. It keeps what it has, and leads with it (KIP-101)."""
    with load_on(cluster) as load:
        for follower, leader in ((2, 1), (3, 2)):
            cluster.brokers[follower].kill()
            eventually(lambda: not cluster.is_in_sync())
            cluster.brokers[follower].start()
            eventually(cluster.is_in_sync, 90, pause_s=0.002)
            cluster.brokers[leader].kill()
            load.wait_for()
            cluster.whole_again()
        load.wait_for()
        assert report("a follower restarts, then the leader dies (KIP-101)", load).gap_s < 20
