"""One cluster for all tests here: three brokers, two controllers, two coordinators. Who kills one starts it again."""

import itertools
from collections.abc import Callable, Iterator

import pytest

from tests.support.client_cluster import Cluster
from tests.support.services import Services
from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.client import NewTopic
from tidelog.client.sync import Admin

_names = itertools.count()
_INTERNAL = {"offsets_topic_num_partitions": "6", "transaction_state_log_num_partitions": "6"}
# Consumers that tell their rack are sent to the replica there.
_BROKER = {
    **_INTERNAL,
    "num_partitions": "3",
    "replica_selector_class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
}


@pytest.fixture(scope="session")
def cluster(zookeeper: EmbeddedZookeeper, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    services = Services(f"{zookeeper.connect}/client", tmp_path_factory.mktemp("client"))
    services.common = {"zookeeper.session.timeout.ms": "6000"}
    for id in (0, 1):
        services.start("controller", id)
    brokers = [services.start("broker", id, broker_rack=f"rack-{id}", **_BROKER) for id in (1, 2, 3)]
    for id in (7, 8):
        services.start("group-coordinator", id, group_initial_rebalance_delay_ms="0", **_INTERNAL)
    for service in services.all:
        service.wait_ready()
    yield Cluster(services, ",".join(broker.kafka for broker in brokers))
    services.end()


@pytest.fixture
def bootstrap(cluster: Cluster) -> str:
    return cluster.bootstrap


@pytest.fixture
def name() -> str:
    """A name that no other test has, for a topic, a group or a transactional id."""
    return f"n{next(_names)}"


@pytest.fixture
def make_topic(bootstrap: str) -> Callable[..., str]:
    def make(partitions: int = 1, replicas: int = 3, **configs: str) -> str:
        topic = f"topic-{next(_names)}"
        dotted = {key.replace("_", "."): value for key, value in configs.items()}
        with Admin(bootstrap_servers=bootstrap) as admin:
            admin.create_topics([NewTopic(topic, partitions, replicas, dotted)])
        return topic

    return make


@pytest.fixture
def topic(make_topic: Callable[..., str]) -> str:
    """A topic of one partition."""
    return make_topic()
