"""From nothing to a cluster that works, and that tells so itself."""

import asyncio
import json
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from tests.e2e.client import POD, Client
from tests.e2e.kube import CHART, FULLNAME, RELEASE, Kube, timed
from tidelog.client.consumer import Consumer as SdkConsumer
from tidelog.client.records import TopicPartition

pytestmark = pytest.mark.timeout(1800)

OUTSIDE = "127.0.0.1:27092"
PRIVATE = {"broker": (9094, 9190), "controller": (9190,), "group-coordinator": (9592, 9190), "zookeeper": (2181, 3888)}
_REACH = """
import json, socket, sys
found = []
for address in sys.argv[1:]:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 2).close()
        found.append(address)
    except OSError:
        pass
print(json.dumps(found))
"""


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
    assert int(client.call("leader", "provisioned", "5")) >= 0, "the last of six partitions"
    tell("topics of the values are made by the job")


def test_a_stock_client_produces_and_consumes_from_a_pod(client: Client, tell: Callable[[str], None]) -> None:
    client.create("steady")
    with client.load("steady", 6) as load:
        pass
    tell(f"stock client in pod {POD}, nothing broken: {load.check(1.0)}")


def test_memory_of_every_pod(kube: Kube, client: Client, tell: Callable[[str], None]) -> None:
    idle = _memory_of_components(kube)
    with client.load("steady", 20, rate=2000):
        time.sleep(18)  # the kubelet looks at a container every ten seconds
        loaded = _memory_of_components(kube)
    assert set(idle) == set(loaded) >= {"broker", "controller", "group-coordinator", "metadata", "zookeeper"}
    assert all(each < 512e6 for each in loaded.values())
    figures = [f"{component} {idle[component] / 1e6:.0f}/{loaded[component] / 1e6:.0f}" for component in sorted(idle)]
    tell(f"resident MB of the largest pod, idle/at 2000 records a second: {', '.join(figures)}")


def _memory_of_components(kube: Kube) -> dict[str, float]:
    """The largest resident memory among the pods of each kind, as the kubelet measures it."""
    component = "app.kubernetes.io/component"
    pods = kube.get("pods", "--selector", f"app.kubernetes.io/instance={RELEASE}")["items"]
    kinds = {pod["metadata"]["name"]: pod["metadata"]["labels"][component] for pod in pods}
    used: dict[str, float] = {}
    for pod in kube.pod_statistics():
        kind = kinds.get(pod["podRef"]["name"])
        if kind is not None:
            resident = sum(container["memory"].get("rssBytes", 0) for container in pod["containers"])
            used[kind] = max(used.get(kind, 0.0), resident)
    return used


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


def test_policies_keep_strangers_out(kube: Kube, client: Client, tell: Callable[[str], None]) -> None:
    """The client's pod is none of the release's: it reaches the ports of clients, and no other."""
    pods = {component: _address(kube, f"{FULLNAME}-{component}-0") for component in PRIVATE}
    private = [f"{pods[component]}:{port}" for component, ports in PRIVATE.items() for port in ports]
    public = [f"{pods['broker']}:9092", f"{FULLNAME}-metadata:8080"]
    own = f"{FULLNAME}-broker-0"
    assert set(_reached(kube, own, *private)) == set(private), "the release's own pods reach each other"
    found = _reached(kube, POD, *private, *public)
    if set(found) >= set(private):
        pytest.skip("this cluster's network does not enforce policies")
    assert sorted(found) == sorted(public)
    stranger = f"{_address(kube, POD)}:8000"
    listening = client.start_call("listen", "8000")
    assert listening.stdout is not None
    listening.stdout.readline()
    assert _reached(kube, POD, stranger) == [stranger]
    assert _reached(kube, own, stranger) == [], "the release's pods reach nobody else"
    listening.kill()
    listening.communicate()
    tell(f"network policies: {len(private)} private ports closed to a stranger's pod, {len(public)} open, no way out")


def _address(kube: Kube, pod: str) -> str:
    address: str = kube.get("pod", pod)["status"]["podIP"]
    return address


def _reached(kube: Kube, pod: str, *addresses: str) -> list[str]:
    """Those of the addresses that a connection from the pod opens to."""
    found: list[str] = json.loads(kube.exec(pod, "python3", "-c", _REACH, *addresses))
    return found
