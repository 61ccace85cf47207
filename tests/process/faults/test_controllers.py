"""The controller hangs or dies, or is in the middle of something when others do: the load goes on, the work is finished."""

import signal
import time

import pytest
from kazoo.exceptions import NoNodeError

from tests.process.faults.conftest import SESSION_MS, Report
from tests.support.fault_cluster import FaultCluster, load_on, stopped
from tests.support.waiting import eventually

# A process may take half a minute to start on a busy machine.
pytestmark = pytest.mark.timeout(300)


def test_sigstop_of_the_controller(cluster: FaultCluster, report: Report) -> None:
    with load_on(cluster) as load:
        old = cluster.active_controller()
        epoch = cluster.zk.epoch()
        with stopped(old):
            eventually(lambda: cluster.zk.epoch() > epoch and cluster.zk.active_controller() not in (None, old.id))
            cluster.brokers[1].kill()
            eventually(lambda: 1 not in cluster.leaders())
            load.wait_for()
        # It wakes up and finds that its time is over: nothing it still had in its hands goes through.
        time.sleep(0.5)
        assert cluster.zk.active_controller() != old.id
        assert 1 not in cluster.leaders()
        cluster.whole_again()
        load.wait_for()
        assert report(f"SIGSTOP of the controller past its session ({SESSION_MS} ms)", load).gap_s < 20


def exists(cluster: FaultCluster, topic: str) -> bool:
    try:
        cluster.zk.client.get(f"/brokers/topics/{topic}")
    except NoNodeError:
        return False
    return True


def test_a_topic_is_deleted_while_a_broker_is_down(cluster: FaultCluster, report: Report) -> None:
    doomed = cluster.create(f"{cluster.topic}-doomed", (1, 2, 3), (3, 1, 2))
    with load_on(cluster, doomed) as records:
        records.finish()
    with load_on(cluster) as load:
        cluster.brokers[3].kill()
        eventually(lambda: 3 not in cluster.leaders(doomed))
        cluster.delete(doomed)
        eventually(lambda: len(cluster.folders(doomed, 0)) == 1)
        load.wait_for()
        assert exists(cluster, doomed), "it is there until its last replica is deleted"
        cluster.whole_again()
        eventually(lambda: not exists(cluster, doomed))
        eventually(lambda: not cluster.folders(doomed, 0) + cluster.folders(doomed, 1))
        cluster.create(doomed, (3, 1, 2), (2, 3, 1))
        with load_on(cluster, doomed) as anew:
            report("a topic is created where another was deleted", anew)
        assert report("a topic is deleted while a broker is down", load).gap_s < 20


def test_kill_during_reassignment(cluster: FaultCluster, report: Report) -> None:
    """From brokers 1, 2, 3 to 2, 3, 4: the newcomer dies before it has copied, then the leader, then the controller."""
    newcomer = cluster.services.start("broker", 4).wait_ready()
    topic = cluster.create(f"{cluster.topic}-moved", (1, 2, 3), (1, 3, 2))
    with load_on(cluster, topic) as load:
        # It is there, as a target must be, and copies nothing.
        newcomer.signal(signal.SIGSTOP)
        cluster.reassign(topic, (2, 3, 4), (4, 3, 2))
        newcomer.kill()
        load.wait_for()
        assert all(4 not in state["isr"] for state in cluster.states(topic))
        newcomer.start()
        cluster.brokers[1].kill()
        cluster.active_controller().kill()
        eventually(lambda: all(sorted(state["isr"]) == [2, 3, 4] for state in cluster.states(topic)), 90)
        load.wait_for()
        cluster.whole_again(topic)
        load.wait_for()
        assert report("kill of newcomer, leader, controller in a reassignment", load).gap_s < 30
