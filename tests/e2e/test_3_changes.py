"""What operators do to a running cluster, under load: restart, upgrade, scale, reassign."""

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.client import Client
from tests.e2e.kube import CHART, FULLNAME, RELEASE, ROOT, CommandFailedError, Kube, until

pytestmark = pytest.mark.timeout(900)

_BROKERS = f"statefulset/{FULLNAME}-broker"
# What docs/operations.md tells operators to do, in a broker's pod.
_REASSIGN = """
set -eu
tidelog reassign generate "$1" --brokers "$2" --output /tmp/plan.json
tidelog reassign execute /tmp/plan.json
until tidelog reassign verify /tmp/plan.json; do sleep 1; done
"""


@pytest.fixture(scope="module", autouse=True)
def _topic(client: Client) -> None:
    client.create("changes")


@pytest.fixture(autouse=True)
def _settled(kube: Kube) -> None:
    kube.wait_until_settled()


def _upgrade(kube: Kube, *values: str, chart: Path = CHART) -> None:
    kept = "--reset-then-reuse-values"  # what was chosen for the release, over the defaults of this chart
    kube.helm("upgrade", RELEASE, str(chart), kept, *values, "--wait", "--timeout", "10m")


def test_rolling_restart_under_load(kube: Kube, client: Client, tell: Callable[[str], None]) -> None:
    ready_min = 3
    with client.load("changes", 75) as load:
        kube.kubectl("rollout", "restart", _BROKERS)
        deadline = time.monotonic() + 300
        while _is_rolling(kube):
            assert time.monotonic() < deadline, "the rollout does not end"
            ready_min = min(ready_min, kube.get(_BROKERS)["status"].get("readyReplicas", 0))
            time.sleep(0.3)
    assert ready_min >= 2, "two brokers were away at once"
    tell(f"kubectl rollout restart of the brokers, one at a time: {load.check(0.5)}")


def _is_rolling(kube: Kube) -> bool:
    status = kube.get(_BROKERS)["status"]
    return bool(status["updateRevision"] != status["currentRevision"] or status.get("availableReplicas", 0) < 3)


def test_a_rollout_waits_for_a_broker_that_was_away_before(
    kube: Kube, client: Client, tell: Callable[[str], None]
) -> None:
    """Kubernetes takes the last pod first, whatever became of the others; its broker does not go before they are back."""
    last = f"{FULLNAME}-broker-2"
    with _no_pod_is_placed(kube):
        kube.delete_pod(f"{FULLNAME}-broker-0")
        until(lambda: "broker-0" in kube.pending(), 60)
        with client.load("changes", 100) as load:
            kube.kubectl("rollout", "restart", _BROKERS)
            until(lambda: "waiting for replicas of others" in kube.kubectl("logs", last), 60)
            time.sleep(10)
            pod = kube.get("pod", last)
            assert "running" in pod["status"]["containerStatuses"][0]["state"], "it went while another one was away"
            assert "deletionTimestamp" in pod["metadata"]
            _place_pods(kube)
            until(lambda: not _is_rolling(kube), 300)
    tell(f"kubectl rollout restart while a broker is away: the next one waits for it: {load.check(0.5)}")


@contextmanager
def _no_pod_is_placed(kube: Kube) -> Iterator[None]:
    for node in kube.get("nodes")["items"]:
        kube.kubectl("cordon", node["metadata"]["name"])
    try:
        yield
    finally:
        _place_pods(kube)


def _place_pods(kube: Kube) -> None:
    for node in kube.get("nodes")["items"]:
        kube.kubectl("uncordon", node["metadata"]["name"])


def test_upgrade_with_a_changed_setting(
    kube: Kube, client: Client, tell: Callable[[str], None], tmp_path: Path
) -> None:
    previous = _previous_chart(tmp_path)
    if previous is not None:
        _upgrade(kube, chart=previous)
        kube.wait_until_settled()
    with client.load("changes", 90) as load:
        _upgrade(kube, "--set", "broker.overrideConfiguration.log\\.retention\\.hours=24")
    settings = kube.exec(f"{FULLNAME}-broker-0", "cat", "/etc/tidelog/broker.properties")
    assert "log.retention.hours=24" in settings
    since = "the same chart" if previous is None else "the chart's previous revision"
    tell(f"helm upgrade from {since} with a changed setting: {load.check(0.5)}")


def _previous_chart(folder: Path) -> Path | None:
    """The chart as it was before its last change; None where there is no history to take it from."""
    path = str(CHART.relative_to(ROOT))
    found = subprocess.run(["git", "log", "-2", "--format=%H", "--", path], cwd=ROOT, capture_output=True, text=True)
    revisions = found.stdout.split()
    if found.returncode != 0 or len(revisions) < 2:
        return None
    packed = subprocess.run(["git", "archive", revisions[1], path], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
    return folder / path


def test_scale_to_five_brokers_and_reassign(kube: Kube, client: Client, tell: Callable[[str], None]) -> None:
    pods = [f"{FULLNAME}-broker-{index}" for index in range(3)]
    before = [kube.get("pod", pod)["metadata"]["uid"] for pod in pods]
    with client.load("changes", 60) as load:
        _upgrade(kube, "--set", "broker.replicaCount=5")
        assert [kube.get("pod", pod)["metadata"]["uid"] for pod in pods] == before, "running brokers were restarted"
        _reassign(kube, "changes", "3,4,0")
    assert client.leader("changes") in (0, 3, 4)
    tell(f"scale 3 to 5 by helm upgrade, and a reassignment onto the new brokers: {load.check(0.5)}")


def test_scale_down_is_refused_while_replicas_are_there(
    kube: Kube, client: Client, tell: Callable[[str], None]
) -> None:
    with pytest.raises(CommandFailedError, match="pre-upgrade hooks failed"):
        _upgrade(kube, "--set", "broker.replicaCount=3")
    said = kube.kubectl("logs", f"job/{FULLNAME}-scale-down-guard")
    assert "broker 3 holds" in said
    assert kube.get(_BROKERS)["spec"]["replicas"] == 5
    _reassign(kube, "changes", "0,1,2")
    with client.load("changes", 30) as load:
        _upgrade(kube, "--set", "broker.replicaCount=3")
        until(lambda: kube.get(_BROKERS)["status"]["replicas"] == 3, 180)
    tell(f"scale 5 to 3: refused while brokers hold replicas, done once they are emptied: {load.check(0.5)}")


def _reassign(kube: Kube, topic: str, brokers: str) -> None:
    bootstrap = f"TIDELOG_BOOTSTRAP_SERVER={FULLNAME}:9092"
    kube.exec(f"{FULLNAME}-broker-0", "timeout", "120", "env", bootstrap, "sh", "-c", _REASSIGN, "sh", topic, brokers)
