"""Brokers and coordinators that come, go, hang and return: who is registered, and what everybody is told."""

import signal
from collections.abc import Iterator

import pytest

from tests.support.cluster_view import Zookeeper, brokers_of_rest, brokers_told, described, zookeeper_at
from tests.support.ports import free_port
from tests.support.services import Service, Services, get_json
from tests.support.waiting import eventually, never
from tests.support.zookeeper import EmbeddedZookeeper

LONG_SESSION_MS, SHORT_SESSION_MS = "30000", "2000"


@pytest.fixture
def zk(services: Services) -> Iterator[Zookeeper]:
    with zookeeper_at(services.zookeeper) as view:
        yield view


def small_cluster(services: Services, *, session_ms: str, **controller: str) -> dict[str, Service]:
    """One controller, two brokers, one coordinator, one metadata process, all ready."""
    services.common = {"zookeeper.session.timeout.ms": session_ms}
    cluster = {
        "controller": services.start("controller", 0, **controller),
        "broker 1": services.start("broker", 1),
        "broker 2": services.start("broker", 2),
        "coordinator": services.start("group-coordinator", 0),
    }
    cluster["metadata"] = services.start("metadata", 0)
    for service in cluster.values():
        service.wait_ready()
    return cluster


def everybody_tells(cluster: dict[str, Service], brokers: set[int]) -> bool:
    """Every process that is still there names exactly these brokers, over gRPC and REST."""
    living = [each for each in cluster.values() if each.process.poll() is None and each.role != "controller"]
    return all(brokers_told(each) == brokers for each in living) and brokers_of_rest(cluster["metadata"]) == brokers


def test_every_process_is_registered_and_everybody_is_told(services: Services, zk: Zookeeper) -> None:
    cluster = small_cluster(services, session_ms=LONG_SESSION_MS)
    eventually(lambda: everybody_tells(cluster, {1, 2}))
    told = described(cluster["metadata"])
    assert {member.id: member.epoch for member in told.brokers} == {1: zk.broker_epoch(1), 2: zk.broker_epoch(2)}
    assert (told.controller_id, told.controller_epoch) == (0, 1)
    assert zk.ids("/coordinators/ids") == {0} == {member.id for member in told.coordinators}
    assert told.cluster_id


def test_a_killed_broker_is_gone_everywhere_long_before_its_session_ends(services: Services, zk: Zookeeper) -> None:
    cluster = small_cluster(services, session_ms=LONG_SESSION_MS)
    cluster["broker 1"].kill()
    eventually(lambda: zk.ids() == {2}, seconds=10)
    eventually(lambda: everybody_tells(cluster, {2}), seconds=10)


def test_without_early_fencing_a_killed_broker_is_gone_when_its_session_ends(services: Services, zk: Zookeeper) -> None:
    cluster = small_cluster(services, session_ms=SHORT_SESSION_MS, early_fencing_enable="false")
    cluster["broker 1"].kill()
    never(lambda: zk.ids() == {2}, seconds=0.5)
    eventually(lambda: everybody_tells(cluster, {2}))


def test_a_killed_coordinator_is_fenced_too(services: Services, zk: Zookeeper) -> None:
    cluster = small_cluster(services, session_ms=LONG_SESSION_MS)
    cluster["coordinator"].kill()
    eventually(lambda: zk.ids("/coordinators/ids") == set(), seconds=10)
    eventually(lambda: not described(cluster["metadata"]).coordinators, seconds=10)


def test_a_stopped_broker_unregisters_at_once_and_exits_with_0(services: Services, zk: Zookeeper) -> None:
    cluster = small_cluster(services, session_ms=LONG_SESSION_MS)
    assert cluster["broker 1"].stop() == 0
    assert zk.ids() == {2}, "it is gone from ZooKeeper before its process has ended"
    eventually(lambda: everybody_tells(cluster, {2}), seconds=10)


def test_a_broker_whose_session_expired_registers_again_by_itself(services: Services, zk: Zookeeper) -> None:
    cluster = small_cluster(services, session_ms=SHORT_SESSION_MS)
    epoch = zk.broker_epoch(1)
    assert epoch is not None
    cluster["broker 1"].signal(signal.SIGSTOP)
    eventually(lambda: zk.ids() == {2})
    cluster["broker 1"].signal(signal.SIGCONT)
    cluster["broker 1"].wait_ready()
    eventually(lambda: everybody_tells(cluster, {1, 2}))
    assert (zk.broker_epoch(1) or 0) > epoch


def test_a_stopped_process_that_is_not_dead_is_not_fenced_early(services: Services, zk: Zookeeper) -> None:
    cluster = small_cluster(services, session_ms=LONG_SESSION_MS)
    epoch = zk.broker_epoch(1)
    cluster["broker 1"].signal(signal.SIGSTOP)
    never(lambda: zk.broker_epoch(1) != epoch, seconds=5)
    cluster["broker 1"].signal(signal.SIGCONT)
    cluster["broker 1"].wait_ready()
    assert zk.broker_epoch(1) == epoch


def test_a_live_broker_whose_registration_was_removed_registers_again(services: Services, zk: Zookeeper) -> None:
    cluster = small_cluster(services, session_ms=LONG_SESSION_MS)
    epoch = zk.broker_epoch(1)
    assert epoch is not None
    zk.client.delete("/brokers/ids/1")
    eventually(lambda: (zk.broker_epoch(1) or 0) > epoch)
    cluster["broker 1"].wait_ready()
    eventually(lambda: everybody_tells(cluster, {1, 2}))


def test_a_killed_broker_that_is_restarted_at_once_is_back_at_once(services: Services, zk: Zookeeper) -> None:
    cluster = small_cluster(services, session_ms=LONG_SESSION_MS)
    epoch = zk.broker_epoch(1)
    assert epoch is not None
    cluster["broker 1"].kill()
    cluster["broker 1"].start().wait_ready(seconds=15)
    assert (zk.broker_epoch(1) or 0) > epoch
    eventually(lambda: everybody_tells(cluster, {1, 2}))


def test_a_whole_cluster_that_was_killed_comes_back_without_waiting_for_sessions(
    services: Services, zk: Zookeeper
) -> None:
    cluster = small_cluster(services, session_ms=LONG_SESSION_MS)
    for service in cluster.values():
        service.kill()
    assert zk.ids() == {1, 2}, "their sessions have not ended"
    for service in cluster.values():
        service.start()
    for service in cluster.values():
        service.wait_ready(seconds=15)
    eventually(lambda: everybody_tells(cluster, {1, 2}))


def test_a_second_broker_with_a_live_brokers_id_refuses_to_start_and_says_why(
    services: Services, zk: Zookeeper, tmp_path_factory: pytest.TempPathFactory
) -> None:
    services.start("controller", 0)
    first = services.start("broker", 1).wait_ready()
    epoch = zk.broker_epoch(1)
    second = services.start("broker", 1, log_dirs=str(tmp_path_factory.mktemp("second")))
    assert second.process.wait(20) == 1
    sentence = second.text().splitlines()[-1]
    assert "broker id 1 is taken by a live process" in sentence
    assert first.kafka in sentence
    assert "Traceback" not in second.text()
    assert zk.broker_epoch(1) == epoch
    assert first.readyz()["ready"]


def test_a_second_broker_on_the_same_log_dir_refuses_to_start(services: Services) -> None:
    services.start("controller", 0)
    first = services.start("broker", 1).wait_ready()
    second = services.start("broker", 2, log_dirs=first.settings["log.dirs"])
    assert second.process.wait(20) == 1
    assert "in use by another broker" in second.text().splitlines()[-1]


def test_zookeeper_restarted_all_reconnect(own_zookeeper: EmbeddedZookeeper, services: Services) -> None:
    own_zookeeper.start_ready()
    services.zookeeper = own_zookeeper.connect
    cluster = small_cluster(services, session_ms=LONG_SESSION_MS)
    own_zookeeper.kill()
    for name in ("controller", "broker 1", "broker 2", "coordinator"):
        eventually(lambda name=name: not cluster[name].readyz()["ready"])  # type: ignore[misc]
    own_zookeeper.start_ready()
    for service in cluster.values():
        service.wait_ready()
    eventually(lambda: everybody_tells(cluster, {1, 2}))
    assert described(cluster["metadata"]).controller_epoch == 1, "the sessions survived, so nobody was elected"


@pytest.mark.parametrize("role", ["controller", "broker", "group-coordinator"])
def test_zookeeper_absent_at_start_they_wait_and_say_so(
    role: str, own_zookeeper: EmbeddedZookeeper, services: Services
) -> None:
    services.zookeeper = own_zookeeper.connect
    waiting = services.start(role, 1)
    report = eventually(waiting.readyz)
    assert not report["ready"]
    assert report["conditions"]["zookeeper"]["why"] == f"waiting for ZooKeeper at {own_zookeeper.connect}"
    assert f"waiting for ZooKeeper at={own_zookeeper.connect}" in waiting.text()
    own_zookeeper.start_ready()
    if role != "controller":
        services.start("controller", 0)
    waiting.wait_ready()


@pytest.mark.parametrize("role", ["controller", "broker", "group-coordinator", "metadata"])
def test_a_process_that_waits_can_be_stopped(role: str, services: Services) -> None:
    """SIGTERM during start-up is a wish like any other."""
    services.zookeeper = f"127.0.0.1:{free_port()}"
    services.make("controller", 0)  # never started, but metadata wants an address
    waiting = services.start(role, 1)
    eventually(waiting.readyz)
    assert waiting.stop() == 0


def test_metadata_serves_rest_with_openapi_and_the_ops_pages(services: Services) -> None:
    cluster = small_cluster(services, session_ms=LONG_SESSION_MS)
    base = f"http://{cluster['metadata'].http}"
    page = get_json(f"{base}/api/v1/cluster")
    assert page["controller_id"] == 0
    assert [broker["id"] for broker in page["brokers"]] == [1, 2]
    assert "/api/v1/cluster" in get_json(f"{base}/api/v1/openapi.json")["paths"]
    assert get_json(f"{base}/readyz")["ready"]
