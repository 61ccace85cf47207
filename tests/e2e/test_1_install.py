"""From nothing to a cluster that works, and that tells so itself."""

import asyncio
import json
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from tests.e2e.client import POD, Client
from tests.e2e.kube import CHART, FULLNAME, RELEASE, Kube, timed
from tidelog.client.consumer import Consumer as SdkConsumer
from tidelog.client.records import TopicPartition

pytestmark = pytest.mark.timeout(1800)

OUTSIDE = "127.0.0.1:27092"


def test_install_of_the_ha_profile(kube: Kube, tell: Callable[[str], None]) -> None:
    values = [
        "--values",
        str(CHART / "profiles" / "ha.yaml"),
        "--values",
        str(CHART.parents[2] / "tests/e2e/values.yaml"),
    ]
    with timed() as seconds:
        kube.helm("install", RELEASE, str(CHART), *values, "--wait", "--timeout", "8m")
        kube.wait_until_settled()
    pods = kube.get("pods", "--selector", "app.kubernetes.io/name=tidelog,app.kubernetes.io/component")["items"]
    running = [pod for pod in pods if pod["status"]["phase"] == "Running"]
    assert len(running) == 15
    tell(f"helm install of profile ha to all {len(running)} pods ready: {seconds():.0f} s")


def test_topics_of_the_values_exist(client: Client, tell: Callable[[str], None]) -> None:
    client.start()
    log = client.kube.kubectl("logs", f"job/{FULLNAME}-provisioning")
    assert "topic provisioned created" in log
    assert client.leader("provisioned") >= 0
    tell("topics of the values are made by the job")


def test_a_stock_client_produces_and_consumes_from_a_pod(client: Client, tell: Callable[[str], None]) -> None:
    client.create("steady")
    with client.load("steady", 6) as load:
        pass
    tell(f"stock client in pod {POD}, nothing broken: {load.check(1.0)}")


def test_memory_of_every_pod(kube: Kube, tell: Callable[[str], None]) -> None:
    names = {"broker-0": 9290, "controller-0": 9290, "group-coordinator-0": 9290}
    used = {
        name: kube.metric(f"{FULLNAME}-{name}", port, "process_resident_memory_bytes") for name, port in names.items()
    }
    assert all(0 < each < 512e6 for each in used.values())
    tell("memory: " + ", ".join(f"{name} {each / 1e6:.0f} MB" for name, each in used.items()))


def test_the_releases_own_test_passes(kube: Kube, tell: Callable[[str], None]) -> None:
    kube.helm("test", RELEASE, "--timeout", "3m")
    tell("helm test: the SDK produces, consumes, joins a group")


def test_rest_answers_through_the_service(kube: Kube, tell: Callable[[str], None]) -> None:
    cluster = json.loads(kube.raw(f"services/{FULLNAME}-metadata:http/proxy/api/v1/cluster"))
    assert len(cluster["brokers"]) == 3
    tell("REST of the metadata service knows 3 brokers")


async def test_clients_outside_reach_every_broker(kube: Kube, client: Client, tell: Callable[[str], None]) -> None:
    client.create("outside", 3)
    forwards = [(f"{FULLNAME}-broker-{index}-external", 27092 + index) for index in range(3)]
    values = sorted(str(number).encode() for number in range(100))
    with kube.forwarded(*forwards):
        stock = Producer({"bootstrap.servers": OUTSIDE})
        for value in values:
            stock.produce("outside", value)
        assert stock.flush(30) == 0
        async with SdkConsumer(bootstrap_servers=OUTSIDE) as consumer:
            consumer.assign([TopicPartition("outside", partition) for partition in range(3)])
            consumer.seek_to_beginning()
            async with asyncio.timeout(30):
                read = [(await anext(consumer)).value for _ in values]
    assert sorted(read) == values
    tell("outside, through port-forwards: a stock client produces to 3 brokers, the SDK consumes")
