"""One Spark session and one small cluster for all tests here; skipped where there is no Java that Spark runs on."""

import itertools
import os
import sys
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from jobs.java import java_fault
from tests.support.client_cluster import Cluster
from tests.support.services import Services
from tests.support.zookeeper import EmbeddedZookeeper
from tidelog.client import NewTopic
from tidelog.client.sync import Admin

_names = itertools.count()
_INTERNAL = {
    "offsets_topic_num_partitions": "4",
    "offsets_topic_replication_factor": "2",
    "transaction_state_log_num_partitions": "4",
    "transaction_state_log_replication_factor": "2",
    "transaction_state_log_min_isr": "1",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Little memory, two tasks at a time, and this Python for its workers."""
    fault = java_fault()
    if fault:
        pytest.skip(fault)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def cluster(zookeeper: EmbeddedZookeeper, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    services = Services(f"{zookeeper.connect}/spark", tmp_path_factory.mktemp("spark"))
    services.start("controller", 0)
    brokers = [services.start("broker", id, **_INTERNAL) for id in (1, 2)]
    services.start("group-coordinator", 7, group_initial_rebalance_delay_ms="0", **_INTERNAL)
    for service in services.all:
        service.wait_ready()
    yield Cluster(services, ",".join(broker.kafka for broker in brokers))
    services.end()


@pytest.fixture
def bootstrap(cluster: Cluster) -> str:
    return cluster.bootstrap


@pytest.fixture
def make_topic(bootstrap: str) -> Callable[..., str]:
    def make(partitions: int = 2, **configs: str) -> str:
        topic = f"spark-{next(_names)}"
        dotted = {key.replace("_", "."): value for key, value in configs.items()}
        with Admin(bootstrap_servers=bootstrap) as admin:
            admin.create_topics([NewTopic(topic, partitions, 2, dotted)])
        return topic

    return make
