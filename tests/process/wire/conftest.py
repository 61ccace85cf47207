"""A controller and one broker for all tests here, which must come out of each of them unharmed."""

import itertools
from collections.abc import Iterator

import psutil
import pytest

from tests.support.services import Service, Services
from tests.support.waiting import eventually
from tests.support.wire_client import WireClient, create
from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.kafka.wire.messages.metadata import MetadataRequest

_names = itertools.count()
# What bad input may leave behind in the memory of the broker.
GROWTH_BYTES_MAX = 64 * 1024 * 1024


@pytest.fixture(scope="package")
def broker(zookeeper: EmbeddedZookeeper, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    services = Services(f"{zookeeper.connect}/wire", tmp_path_factory.mktemp("wire"))
    services.start("controller", 0)
    started = services.start("broker", 1).wait_ready()
    # What is imported and compiled at the first use is no growth.
    with WireClient(started) as client:
        create(client, "warm")
        assert client.produce("warm").error_code == 0
    yield started
    services.end()


@pytest.fixture
def client(broker: Service) -> Iterator[WireClient]:
    with WireClient(broker) as connected:
        yield connected


@pytest.fixture
def topic(broker: Service) -> str:
    """A new topic with one partition."""
    name = f"topic-{next(_names)}"
    with WireClient(broker) as client:
        create(client, name)
    return name


@pytest.fixture
def unharmed(broker: Service) -> Iterator[None]:
    """The broker still serves others afterwards, and has not grown."""
    process = psutil.Process(broker.process.pid)
    before = process.memory_info().rss
    yield
    assert broker.process.poll() is None
    with WireClient(broker) as other:
        assert [one.node_id for one in other.call(MetadataRequest(topics=[]), 9).brokers] == [1]
    eventually(lambda: process.memory_info().rss - before < GROWTH_BYTES_MAX)
