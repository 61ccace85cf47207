"""Pods are deleted and processes killed under a load; in each scenario nothing acknowledged is lost or duplicated."""

import json
import time
from collections.abc import Callable

import pytest

from tests.e2e.client import Client
from tests.e2e.kube import FULLNAME, Kube, until

pytestmark = pytest.mark.timeout(600)

_BEFORE_S = 3.0
_KILL_BROKER = """
import os, pathlib, signal
for process in pathlib.Path("/proc").glob("[0-9]*"):
    words = (process / "cmdline").read_bytes().split(b"\\0")
    if b"broker" in words and process.name != str(os.getpid()):
        os.kill(int(process.name), signal.SIGKILL)
"""


@pytest.fixture(scope="module", autouse=True)
def _topic(client: Client) -> None:
    client.create("faults")


@pytest.fixture(autouse=True)
def _settled(kube: Kube) -> None:
    kube.wait_until_settled()


def _broker_leading(client: Client) -> str:
    return f"{FULLNAME}-broker-{client.leader('faults')}"


def test_the_leader_is_deleted_gracefully(kube: Kube, client: Client, tell: Callable[[str], None]) -> None:
    leader = _broker_leading(client)
    with client.load("faults", 14) as load:
        time.sleep(_BEFORE_S)
        kube.delete_pod(leader)
    kube.wait_until_settled()
    tell(f"kubectl delete pod of the leader, graceful: {load.check(0.5)}")


def test_the_leader_is_deleted_by_force(kube: Kube, client: Client, tell: Callable[[str], None]) -> None:
    leader = _broker_leading(client)
    with client.load("faults", 14) as load:
        time.sleep(_BEFORE_S)
        kube.delete_pod(leader, force=True)
    kube.wait_until_settled()
    tell(f"kubectl delete pod of the leader, --grace-period=0 --force: {load.check(2.0)}")


def test_the_leader_is_killed(kube: Kube, client: Client, tell: Callable[[str], None]) -> None:
    leader = _broker_leading(client)
    with client.load("faults", 14) as load:
        time.sleep(_BEFORE_S)
        kube.exec(leader, "python3", "-c", _KILL_BROKER)
    kube.wait_until_settled()
    restarts = kube.get("pod", leader)["status"]["containerStatuses"][0]["restartCount"]
    assert restarts >= 1
    tell(f"kubectl exec kill -9 of the leader: {load.check(2.0)}")


def test_the_active_controller_is_deleted(kube: Kube, client: Client, tell: Callable[[str], None]) -> None:
    pods = [f"{FULLNAME}-controller-{index}" for index in range(3)]
    active = next(pod for pod in pods if _is_active(kube, pod))
    with client.load("faults", 12) as load:
        time.sleep(_BEFORE_S)
        kube.delete_pod(active, force=True)
        until(lambda: any(_is_active(kube, pod) for pod in pods if pod != active), 30)
    kube.wait_until_settled()
    assert sum(_is_active(kube, pod) for pod in pods) == 1
    tell(f"kubectl delete pod of the active controller, --force: {load.check(1.0)}")


def _is_active(kube: Kube, pod: str) -> bool:
    return kube.metric(pod, 9290, "kafka_controller_kafkacontroller_activecontrollercount") == 1


def test_a_metadata_pod_is_deleted(kube: Kube, client: Client, tell: Callable[[str], None]) -> None:
    pod = kube.get("pods", "--selector", "app.kubernetes.io/component=metadata")["items"][0]["metadata"]["name"]
    with client.load("faults", 8) as load:
        time.sleep(_BEFORE_S)
        kube.delete_pod(pod)
        for _ in range(20):
            assert json.loads(kube.raw(f"services/{FULLNAME}-metadata:http/proxy/api/v1/cluster"))["brokers"]
            time.sleep(0.1)
    tell(f"kubectl delete pod of a metadata process, REST asked 20 times: {load.check(1.0)}")


def test_zookeeper_pods_are_deleted(kube: Kube, client: Client, tell: Callable[[str], None]) -> None:
    with client.load("faults", 40) as load:
        for index in range(3):
            time.sleep(_BEFORE_S)
            kube.delete_pod(f"{FULLNAME}-zookeeper-{index}", force=index == 1)
            time.sleep(1)
            kube.wait_until_settled()
    tell(f"kubectl delete pod of each ZooKeeper server in turn: {load.check(2.0)}")


def test_coordinators_are_deleted_in_mid_rebalance(kube: Kube, client: Client, tell: Callable[[str], None]) -> None:
    client.create("grouped", 6)
    with client.load("grouped", 30) as load:
        first = client.start_call("group", "grouped", "e2e", "26")
        time.sleep(8)
        second = client.start_call("group", "grouped", "e2e", "18")
        time.sleep(1)
        kube.delete_pod(f"{FULLNAME}-group-coordinator-0")
        time.sleep(4)
        kube.delete_pod(f"{FULLNAME}-group-coordinator-1", force=True)
        reports = [json.loads(member.communicate(timeout=120)[0].splitlines()[-1]) for member in (first, second)]
    assert all(report["read"] > 0 for report in reports), reports
    assert reports[0]["assigned"] + reports[1]["assigned"] >= 6, reports
    gaps = ", ".join(f"{report['longest_gap_s']:.1f} s" for report in reports)
    tell(f"kubectl delete pod of coordinators in mid-rebalance: {load.check(1.0)}; members waited at most {gaps}")


def test_data_is_there_after_every_broker_was_deleted(kube: Kube, client: Client, tell: Callable[[str], None]) -> None:
    with client.load("faults", 3) as load:
        pass
    for index in range(3):
        kube.delete_pod(f"{FULLNAME}-broker-{index}")
    time.sleep(2)
    kube.wait_until_settled()
    again = json.loads(client.call("verify", "faults", load.run, str(load.report["sent"])))
    assert (again["missing"], again["duplicated"]) == (0, 0)
    tell(f"all broker pods deleted at once: the {again['read']} records are on their volumes")
