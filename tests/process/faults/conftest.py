"""A cluster for each module, with a fresh topic for every fault, and a line about each in the terminal's summary."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from tests.support.fault_cluster import PLACES, FaultCluster, started
from tests.support.fault_load import FaultLoad, Tally
from tests.support.services import Services
from tests.support.waiting import eventually
from tests.support.zookeeper import EmbeddedZookeeper

# Long enough that a busy machine does not end a session by itself, short enough to be waited for.
SESSION_MS = 4_000
SETTINGS = {"zookeeper.session.timeout.ms": str(SESSION_MS)}

Report = Callable[[str, FaultLoad], Tally]

_lines = pytest.StashKey[list[str]]()
_numbers = itertools.count()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_lines] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = config.stash.get(_lines, [])
    if lines:
        terminalreporter.section("faults")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(scope="module")
def shared(zookeeper: EmbeddedZookeeper, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultCluster]:
    """On the ZooKeeper that all tests share, unless a module brings its own."""
    connect = f"{zookeeper.connect}/faults/{next(_numbers)}"
    with started(Services(connect, tmp_path_factory.mktemp("faults"), SETTINGS)) as made:
        yield made


@pytest.fixture
def cluster(shared: FaultCluster) -> FaultCluster:
    shared.topic = ""
    shared.whole_again()
    shared.topic = shared.create(f"load-{next(_numbers)}", *PLACES)
    return shared


@pytest.fixture
def report(request: pytest.FixtureRequest, cluster: FaultCluster) -> Report:
    """Ends the load, prints a line about it, and asserts that nothing was lost, duplicated or out of order."""

    def finish(fault: str, load: FaultLoad) -> Tally:
        tally = load.finish()
        request.config.stash[_lines].append(tally.line(fault))
        assert tally.is_whole, tally
        eventually(lambda: cluster.logs_agree(load.topic))
        return tally

    return finish
