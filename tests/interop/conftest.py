"""A cluster for stock clients: ZooKeeper, a controller and one broker."""

import itertools
from collections.abc import Iterator

import pytest

from tests.support.services import Services
from tests.support.zookeeper import EmbeddedZookeeper

_names = itertools.count()


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the broker listens."""
    zookeeper = EmbeddedZookeeper(tmp_path_factory.mktemp("zookeeper")).start_ready()
    services = Services(f"{zookeeper.connect}/interop", tmp_path_factory.mktemp("interop"))
    try:
        services.start("controller", 0)
        yield services.start("broker", 1, message_max_bytes="2000000").wait_ready().kafka
    finally:
        services.end()
        zookeeper.stop()


@pytest.fixture
def topic() -> str:
    """A name that no other test has."""
    return f"interop-{next(_names)}"
