"""One broker for all tests here, with a controller that the tests play themselves."""

import itertools
from collections.abc import AsyncIterator, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest

from tests.support.cluster_view import Zookeeper, zookeeper_at
from tests.support.fake_controller import FakeController
from tests.support.ports import free_port
from tests.support.services import Service, Services
from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.net.connection import Connection
from tidelog.rpc import controller_pb2, controller_pb2_grpc

_names = itertools.count()


class ProducerIdBlocks(controller_pb2_grpc.ControllerServicer):
    """The one thing that the broker asks of its controller here. Blocks are small, so that they run out."""

    def __init__(self) -> None:
        self._firsts = itertools.count(0, 10)

    def AllocateProducerIds(self, request: Any, context: Any) -> controller_pb2.AllocateProducerIdsResponse:  # noqa: N802
        return controller_pb2.AllocateProducerIdsResponse(first_producer_id=next(self._firsts), count=10)


@pytest.fixture(scope="module")
def producer_id_server() -> Iterator[str]:
    address = f"127.0.0.1:{free_port()}"
    server = grpc.server(futures.ThreadPoolExecutor(2))
    controller_pb2_grpc.add_ControllerServicer_to_server(ProducerIdBlocks(), server)
    server.add_insecure_port(address)
    server.start()
    yield address
    server.stop(0)


@pytest.fixture(scope="module")
def data_services(zookeeper: EmbeddedZookeeper, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    started = Services(f"{zookeeper.connect}/data/{next(_names)}", tmp_path_factory.mktemp("data"))
    yield started
    started.end()


@pytest.fixture(scope="module")
def zk(data_services: Services) -> Iterator[Zookeeper]:
    with zookeeper_at(data_services.zookeeper) as view:
        yield view


@pytest.fixture(scope="module")
def controller(data_services: Services, zk: Zookeeper, producer_id_server: str) -> Iterator[FakeController]:
    broker = data_services.start("broker", 1)
    played = FakeController(broker, zk, grpc_address=producer_id_server)
    played.introduce()
    yield played
    played.close()


@pytest.fixture
def broker(controller: FakeController) -> Service:
    return controller.broker


@pytest.fixture
def topic() -> str:
    """A name that no other test has."""
    return f"topic-{next(_names)}"


@pytest.fixture
async def connection(broker: Service) -> AsyncIterator[Connection]:
    host, port = broker.kafka.split(":")
    opened = await Connection.open(host, int(port), client_id="test", timeout_s=10)
    yield opened
    opened.close()
    await opened.closed()


@pytest.fixture
def data_dir(broker: Service) -> Path:
    return Path(broker.settings["log.dirs"])
