"""ZooKeeper away, from one broker or from all, and everything restarted in turn: data goes on."""

import os
import time
from collections.abc import Iterator

import pytest

from tests.process.faults.conftest import SESSION_MS, SETTINGS, Report
from tests.support.fault_cluster import FaultCluster, load_on, started
from tests.support.forwarder import Forwarder
from tests.support.services import Services
from tests.support.waiting import eventually
from tests.support.zookeeper import EmbeddedZookeeper

# On a busy machine thirty seconds without ZooKeeper, or a dozen restarts, take longer than other tests may.
pytestmark = pytest.mark.timeout(300)

OUTAGE_S = float(os.environ.get("TIDELOG_OUTAGE_SECONDS", "30"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedZookeeper]:
    """A ZooKeeper that may be ended."""
    made = EmbeddedZookeeper(tmp_path_factory.mktemp("zookeeper")).start_ready()
    yield made
    made.kill()


@pytest.fixture(scope="module")
def forwarder(server: EmbeddedZookeeper) -> Iterator[Forwarder]:
    made = Forwarder(server.port)
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared(
    server: EmbeddedZookeeper, forwarder: Forwarder, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FaultCluster]:
    """Broker 1 reaches ZooKeeper through the forwarder alone."""
    services = Services(server.connect, tmp_path_factory.mktemp("faults"), SETTINGS)
    with started(services, {1: {"zookeeper_connect": f"127.0.0.1:{forwarder.port}"}}) as made:
        yield made


def test_the_leader_is_cut_from_zookeeper_only(cluster: FaultCluster, report: Report, forwarder: Forwarder) -> None:
    with load_on(cluster) as load:
        forwarder.cut()
        eventually(lambda: 1 not in cluster.leaders())
        # Nobody copies from broker 1 any more. It hears of that from the controller, though it is not registered.
        load.wait_for(seconds=20)
        forwarder.mend()
        eventually(cluster.is_in_sync)
        load.wait_for()
        assert report(f"a leader is cut from ZooKeeper only ({SESSION_MS} ms and more)", load).gap_s < 20


def test_zookeeper_is_down(cluster: FaultCluster, report: Report, server: EmbeddedZookeeper) -> None:
    with load_on(cluster) as load:
        server.kill()
        acked, read = load.acked, load.following.read
        time.sleep(OUTAGE_S)
        # 400 records a second are due.
        assert load.acked - acked > 200 * OUTAGE_S, "produce goes on"
        assert load.following.read - read > 200 * OUTAGE_S, "consume goes on"
        server.start_ready()
        cluster.whole_again()
        cluster.create(f"{cluster.topic}-after", (1, 2, 3))
        cluster.brokers[1].kill()
        load.wait_for()
        cluster.whole_again()
        assert report(f"ZooKeeper is down for {OUTAGE_S:g} s, then a leader dies", load).gap_s < 20


def test_rolling_restart_of_everything(cluster: FaultCluster, report: Report, server: EmbeddedZookeeper) -> None:
    for id in (0, 1):
        cluster.services.start("group-coordinator", id)
    cluster.services.start("metadata", 0)
    cluster.whole_again()
    with load_on(cluster) as load:
        for service in cluster.services.all:
            cluster.restart(service)
            load.wait_for(10)
        server.restart(crash=False)
        load.wait_for(10)
        cluster.whole_again()
        load.wait_for()
        assert report("rolling restart of everything, ZooKeeper too", load).gap_s < 20
