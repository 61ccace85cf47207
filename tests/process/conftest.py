"""One ZooKeeper for all process tests, a chroot of its own for every test, and processes that end with it."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.services import Services
from tests.support.zookeeper import EmbeddedZookeeper

_chroots = itertools.count()


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedZookeeper]:
    server = EmbeddedZookeeper(tmp_path_factory.mktemp("zookeeper")).start_ready()
    yield server
    server.stop()


@pytest.fixture
def own_zookeeper(tmp_path: Path) -> Iterator[EmbeddedZookeeper]:
    """A server that the test may kill; not started."""
    server = EmbeddedZookeeper(tmp_path / "zookeeper")
    yield server
    server.kill()


@pytest.fixture
def connect(zookeeper: EmbeddedZookeeper) -> str:
    return f"{zookeeper.connect}/test/{next(_chroots)}"


@pytest.fixture
def services(connect: str, tmp_path: Path) -> Iterator[Services]:
    """Starts Tidelog's processes on a fresh chroot."""
    started = Services(connect, tmp_path)
    yield started
    started.end()
