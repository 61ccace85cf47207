"""Each alert fires in the trouble that it is made for, and is gone after it, in a Prometheus that scrapes real processes.

Rules that look at minutes are read with all their durations a tenth: what they say of the metrics of real processes is
the same, and it shows in seconds. `promtool test rules` (tests/unit/chart) holds them to their durations.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.e2e.client import Client
from tests.e2e.kube import Kube, until
from tests.e2e.prometheus import TENFOLD, Prometheus
from tests.e2e.trouble import NAME, RELEASE, Trouble

pytestmark = pytest.mark.timeout(600)

_BROKERS, _CONTROLLERS, _METADATA = (
    f"statefulset/{NAME}-broker",
    f"statefulset/{NAME}-controller",
    f"deployment/{NAME}-metadata",
)
_LEADER, _FOLLOWER, _COORDINATOR = f"{NAME}-broker-0", f"{NAME}-broker-1", f"{NAME}-group-coordinator-0"
_ACTIVE_BROKERS = "kafka_controller_kafkacontroller_activebrokercount"
_SMALL_DISK = "/var/lib/small"


@pytest.fixture(scope="module")
def _release(kube: Kube, client: Client) -> Iterator[Trouble]:
    client.start()
    trouble = Trouble(kube, Prometheus(kube), Client(kube, f"{NAME}:9092"), print)
    trouble.prometheus.start()
    trouble.install()
    yield trouble
    kube.helm("uninstall", RELEASE, "--wait", "--timeout", "5m")


@pytest.fixture
def trouble(_release: Trouble, tell: Callable[[str], None]) -> Iterator[Trouble]:
    """All is well before and after."""
    _release.kube.wait_until_settled()
    yield Trouble(_release.kube, _release.prometheus, _release.client, tell)
    _release.kube.wait_until_settled()


def test_no_controller(trouble: Trouble) -> None:
    with trouble.alerts("TidelogNoActiveController") as fire:
        trouble.scale(_CONTROLLERS, 0)
        fire()
        trouble.scale(_CONTROLLERS, 1)


def test_several_controllers(trouble: Trouble) -> None:
    with trouble.alerts("TidelogSeveralActiveControllers") as fire, trouble.impostor():
        fire()


def test_a_broker_is_away(trouble: Trouble) -> None:
    trouble.client.place("alone", "1")
    trouble.client.place("both", "0,1", "min.insync.replicas=2")
    names = ("TidelogUnderReplicatedPartitions", "TidelogUnderMinIsr", "TidelogOfflinePartitions")
    with trouble.alerts(*names) as fire:
        trouble.scale(_BROKERS, 1)
        fire()
        trouble.scale(_BROKERS, 2)


def test_processes_are_missing(trouble: Trouble) -> None:
    with trouble.alerts("TidelogProcessMissing", rules=TENFOLD) as fire:
        trouble.scale(_METADATA, 0)
        fire()
        trouble.scale(_METADATA, 1)


def test_an_unclean_election(trouble: Trouble) -> None:
    """The follower misses a record; then the leader goes, and the follower comes back."""
    settings = ("unclean.leader.election.enable=true", "min.insync.replicas=1")
    trouble.client.place("unclean", "0,1", *settings)
    with trouble.alerts("TidelogUncleanElection", rules=TENFOLD) as fire:
        trouble.signal(_FOLLOWER, "broker", "SIGSTOP")
        until(lambda: trouble.metric(_ACTIVE_BROKERS) == [1.0], 60)
        trouble.client.call("send", "unclean", "1")
        trouble.signal(_LEADER, "broker", "SIGSTOP")
        trouble.signal(_FOLLOWER, "broker", "SIGCONT")
        fire()
        trouble.signal(_LEADER, "broker", "SIGCONT")
    until(lambda: trouble.metric(_ACTIVE_BROKERS) == [2.0], 60)


def test_replicas_fall_out_of_sync(trouble: Trouble) -> None:
    """Not for long enough that the session of their broker would end: the leaders themselves must see it.

    Only replicas that lack something fall out, so there must be new records.
    """
    with trouble.alerts("TidelogIsrChurn", rules=TENFOLD) as fire:
        producing = trouble.client.start_call("produce", "many", "60", "100", "churn")
        for _ in range(5):
            trouble.signal(_FOLLOWER, "broker", "SIGSTOP", "5", "SIGCONT", "5")
        fire()
        producing.communicate(timeout=180)


def test_a_disk_fills(trouble: Trouble) -> None:
    filler = f"{_SMALL_DISK}/filler"
    with trouble.alerts("TidelogDiskAlmostFull", rules=TENFOLD) as fire:
        trouble.kube.exec(_LEADER, "dd", "if=/dev/zero", f"of={filler}", "bs=1M", "count=58")
        fire()
        trouble.kube.exec(_LEADER, "rm", filler)


def test_a_log_directory_fails(trouble: Trouble) -> None:
    with trouble.alerts("TidelogOfflineLogDirectory") as fire:
        trouble.kube.exec(_FOLLOWER, "chmod", "0", f"{_SMALL_DISK}/logs")
        # New partitions go to the directory that has the fewest: one of these goes there.
        for index in range(6):
            trouble.client.place(f"somewhere{index}", "1")
        fire()
        trouble.kube.exec(_FOLLOWER, "chmod", "755", f"{_SMALL_DISK}/logs")
        trouble.kube.delete_pod(_FOLLOWER)


def test_a_group_does_not_keep_up(trouble: Trouble) -> None:
    trouble.client.place("lagging", "0")
    trouble.client.call("commit", "lagging", "behind", "start")
    with trouble.alerts("TidelogLagGrows", rules=TENFOLD) as fire:
        producing = trouble.client.start_call("produce", "lagging", "120", "100", "lag")
        fire()
        producing.communicate(timeout=240)
        trouble.client.call("commit", "lagging", "behind", "end")


def test_an_event_loop_lags(trouble: Trouble) -> None:
    with trouble.alerts("TidelogEventLoopLag", rules=TENFOLD) as fire:
        for _ in range(3):
            trouble.signal(_COORDINATOR, "group-coordinator", *("SIGSTOP", "0.8", "SIGCONT", "0.2") * 20)
        fire()
