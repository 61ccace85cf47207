"""Who may reach what: services, external access, and policies that restrict."""

import pytest

from tests.support.chart import Object, Rendered, render

OWN = {"app.kubernetes.io/name": "tidelog", "app.kubernetes.io/instance": "t"}
PRIVATE = {
    "broker": {9094, 9190},
    "controller": {9190},
    "group-coordinator": {9592, 9190},
    "zookeeper": {2181, 2888, 3888},
}


def _external(service: Object, replicas: int = 3) -> Rendered:
    return render(
        {"broker": {"replicaCount": replicas}}, {"externalAccess": {"enabled": True, "broker": {"service": service}}}
    )


@pytest.mark.parametrize(
    ("service", "addresses"),
    [
        (
            {"type": "NodePort", "domain": "node.example", "nodePorts": [30001, 30002, 30003]},
            ["node.example:30001", "node.example:30002", "node.example:30003"],
        ),
        (
            {"type": "ClusterIP", "domain": "127.0.0.1", "ports": {"external": 19092}},
            ["127.0.0.1:19092", "127.0.0.1:19093", "127.0.0.1:19094"],
        ),
        (
            {"type": "LoadBalancer", "loadBalancerNames": ["a.example", "b.example", "c.example"]},
            ["a.example:9095", "b.example:9095", "c.example:9095"],
        ),
        (
            {"type": "LoadBalancer", "domain": "example"},
            [f"t-tidelog-broker-{index}.example:9095" for index in range(3)],
        ),
    ],
)
def test_each_broker_has_an_address_outside_and_advertises_it(service: Object, addresses: list[str]) -> None:
    rendered = _external(service)
    assert rendered.one("ConfigMap", "broker-external")["data"] == {str(i): each for i, each in enumerate(addresses)}
    assert "EXTERNAL://:9095" in rendered.settings("broker")["listeners"]
    command = rendered.container("StatefulSet", "broker")["command"][-1]
    assert 'EXTERNAL://$(cat /etc/tidelog-external/"$TIDELOG_BROKER_ID")' in command
    for index in range(3):
        spec = rendered.one("Service", f"broker-{index}-external")["spec"]
        assert spec["selector"]["statefulset.kubernetes.io/pod-name"] == f"t-tidelog-broker-{index}"
        assert spec["ports"][0]["targetPort"] == "external"


def test_a_forwarded_port_is_the_one_that_is_advertised() -> None:
    rendered = _external({"type": "ClusterIP", "domain": "127.0.0.1", "ports": {"external": 19092}})
    assert rendered.one("Service", "broker-2-external")["spec"]["ports"][0]["port"] == 19094


def test_clients_bootstrap_from_ready_brokers() -> None:
    spec = render().one("Service", "")["spec"]
    assert spec["ports"] == [{"name": "tcp-client", "port": 9092, "targetPort": "client"}]
    assert "publishNotReadyAddresses" not in spec


@pytest.mark.parametrize("component", list(PRIVATE))
def test_private_ports_are_for_the_releases_own_pods(component: str) -> None:
    policy = render(profile="ha").one("NetworkPolicy", component)["spec"]
    for rule in policy["ingress"]:
        ports = {port["port"] for port in rule["ports"]}
        if ports & PRIVATE[component]:
            assert rule["from"] == [{"podSelector": {"matchLabels": OWN}}]


def test_every_pod_of_the_cluster_has_a_policy_in_both_directions() -> None:
    policies = {each["metadata"]["name"]: each["spec"] for each in render(profile="ha").all("NetworkPolicy")}
    assert set(policies) == {f"t-tidelog-{component}" for component in (*PRIVATE, "metadata")}
    for spec in policies.values():
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        assert {"to": [{"podSelector": {"matchLabels": OWN}}]} in spec["egress"]


def test_clients_can_be_bound_to_a_label() -> None:
    rules = render({"networkPolicy": {"allowExternal": False}}).one("NetworkPolicy", "broker")["spec"]["ingress"]
    open_to_all = [rule for rule in rules if "from" not in rule]
    assert open_to_all == []
    labelled = [rule for rule in rules if "t-tidelog-client" in str(rule["from"])]
    assert [port["port"] for port in labelled[0]["ports"]] == [9092]


def test_metrics_can_be_bound_to_a_namespace() -> None:
    selector = {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}
    rendered = render({"networkPolicy": {"metricsNamespaceSelector": selector}})
    rules = rendered.one("NetworkPolicy", "controller")["spec"]["ingress"]
    assert {"from": [{"namespaceSelector": selector}], "ports": [{"port": 9290}]} in rules
