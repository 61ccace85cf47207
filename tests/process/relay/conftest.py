"""One broker, with a controller and two coordinators that the tests play themselves."""

import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from tests.support.cluster_view import zookeeper_at
from tests.support.fake_controller import FakeController
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.services import Services
from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.kafka.cluster import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.kafka.coordination.sharding import shard_of
from tidelog.kafka.wire.messages.add_partitions_to_txn import ADD_PARTITIONS_TO_TXN
from tidelog.kafka.wire.messages.describe_groups import DESCRIBE_GROUPS
from tidelog.kafka.wire.messages.end_txn import END_TXN
from tidelog.kafka.wire.messages.heartbeat import HEARTBEAT
from tidelog.kafka.wire.messages.init_producer_id import INIT_PRODUCER_ID
from tidelog.kafka.wire.messages.join_group import JOIN_GROUP
from tidelog.kafka.wire.messages.list_groups import LIST_GROUPS
from tidelog.kafka.wire.messages.offset_commit import OFFSET_COMMIT
from tidelog.kafka.wire.messages.offset_fetch import OFFSET_FETCH
from tidelog.kafka.wire.messages.txn_offset_commit import TXN_OFFSET_COMMIT
from tidelog.net.connection import Connection
from tidelog.rpc import types_pb2

APIS = (
    ADD_PARTITIONS_TO_TXN, DESCRIBE_GROUPS, END_TXN, HEARTBEAT, INIT_PRODUCER_ID, JOIN_GROUP, LIST_GROUPS, OFFSET_COMMIT,
    OFFSET_FETCH, TXN_OFFSET_COMMIT,
)  # fmt: skip
# Of both internal topics: the broker leads all but the last, and coordinator 1 owns the even ones, 2 the odd ones.
SHARDS = 5
ELSEWHERE = 4
OTHER_BROKER = 2

_names = itertools.count()


def name_in(shard: int) -> str:
    """A group or transactional id of this shard that no other test has."""
    return next(name for number in _names if shard_of(name := f"name-{number}", SHARDS) == shard)


@dataclass
class Cluster:
    """What the broker believes the cluster to be."""

    controller: FakeController
    coordinators: dict[int, FakeCoordinator]

    def tell(self, *, without: int | None = None, epoch: int = 1, owned: bool = True) -> None:
        self.controller.coordinators = [
            coordinator.member(epoch) for id, coordinator in self.coordinators.items() if id != without
        ]
        self.controller.shards = [
            types_pb2.ShardOwner(topic=topic, partition=shard, coordinator=1 + shard % 2 if owned else -1, epoch=epoch)
            for topic in (CONSUMER_OFFSETS, TRANSACTION_STATE)
            for shard in range(SHARDS)
        ]
        self.controller.update_metadata()

    async def connect(self) -> Connection:
        host, port = self.controller.broker.kafka.split(":")
        return await Connection.open(host, int(port), client_id="test", timeout_s=10)


@pytest.fixture(scope="module")
def controller(zookeeper: EmbeddedZookeeper, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeController]:
    services = Services(f"{zookeeper.connect}/relay/{next(_names)}", tmp_path_factory.mktemp("relay"))
    with zookeeper_at(services.zookeeper) as view:
        broker = services.start("broker", 1, request_timeout_ms="3000")
        played = FakeController(broker, view)
        played.introduce()
        for topic in (CONSUMER_OFFSETS, TRANSACTION_STATE):
            created = played.create(topic, SHARDS)
            created.partitions[ELSEWHERE].leader = OTHER_BROKER
        yield played
        played.close()
    services.end()


@pytest.fixture
async def cluster(controller: FakeController) -> AsyncIterator[Cluster]:
    coordinators = {id: await FakeCoordinator(id, APIS).start() for id in (1, 2)}
    known = Cluster(controller, coordinators)
    known.tell(epoch=next(_names) + 1)
    yield known
    for coordinator in coordinators.values():
        await coordinator.stop()


@pytest.fixture
def coordinator(cluster: Cluster) -> FakeCoordinator:
    """The owner of the even shards."""
    return cluster.coordinators[1]


@pytest.fixture
async def connection(cluster: Cluster) -> AsyncIterator[Connection]:
    opened = await cluster.connect()
    yield opened
    opened.close()
    await opened.closed()
