"""Wrong values are refused in a sentence that names them; right ones arrive where they belong."""

from typing import Any

import pytest

from tests.support.chart import ChartRefusedError, render


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"broker": {"replicaCount": "three"}}, "broker.replicaCount"),
        ({"broker": {"replicaCount": 0}}, "broker.replicaCount"),
        ({"broker": {"replicas": 3}}, "replicas is not allowed"),
        ({"brokers": {"replicaCount": 3}}, "brokers is not allowed"),
        ({"broker": {"persistence": {"size": "10GB"}}}, "broker.persistence.size"),
        ({"zookeeper": {"replicaCount": 2}}, "zookeeper.replicaCount"),
        ({"logLevel": "loud"}, "logLevel"),
        ({"listeners": {"client": {"containerPort": 70000}}}, "listeners.client.containerPort"),
        ({"provisioning": {"topics": [{"partitions": 3}]}}, "name is required"),
        ({"provisioning": {"topics": [{"name": "a b"}]}}, "provisioning.topics.0.name"),
        ({"image": {"digest": "abc"}}, "image.digest"),
        ({"overrideConfiguration": {"log.dirs": ["/a", "/b"]}}, "overrideConfiguration.log.dirs"),
        ({"metrics": {"serviceMonitor": {"enabled": "yes"}}}, "metrics.serviceMonitor.enabled"),
        ({"zookeeper": {"enabled": False}}, "externalZookeeper.servers must name"),
        ({"externalAccess": {"enabled": True}}, "nodePorts has 0 ports"),
        ({"externalAccess": {"enabled": True, "broker": {"service": {"type": "ClusterIP"}}}}, "service.domain"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(values: dict[str, Any], named: str) -> None:
    with pytest.raises(ChartRefusedError, match=r".") as refused:
        render(values)
    assert named in str(refused.value)


def test_settings_arrive_in_the_files_and_a_components_own_win() -> None:
    rendered = render(
        {"overrideConfiguration": {"log.retention.hours": 24, "request.timeout.ms": 5000}},
        {"broker": {"overrideConfiguration": {"log.retention.hours": 48}}},
    )
    assert rendered.settings("broker")["log.retention.hours"] == "48"
    assert rendered.settings("controller")["log.retention.hours"] == "24"
    assert rendered.settings("group-coordinator")["request.timeout.ms"] == "5000"


@pytest.mark.parametrize(
    ("value", "text"),
    [(1073741824, "1073741824"), (9007199254740991, "9007199254740991"), (0.5, "0.5"), (True, "true"), ("a,b", "a,b")],
)
def test_numbers_are_written_as_they_were_given(value: object, text: str) -> None:
    rendered = render({"overrideConfiguration": {"log.segment.bytes": value}})
    assert rendered.settings("broker")["log.segment.bytes"] == text


def test_an_image_is_named_by_digest_before_tag() -> None:
    digest = f"sha256:{'a' * 64}"
    image = {"registry": "images.example", "repository": "team/tidelog", "tag": "1", "digest": digest}
    assert (
        render({"image": image}).container("StatefulSet", "broker")["image"] == f"images.example/team/tidelog@{digest}"
    )


def test_replication_follows_the_number_of_brokers() -> None:
    one, three, five = (render({"broker": {"replicaCount": count}}).settings("controller") for count in (1, 3, 5))
    assert (one["default.replication.factor"], one["min.insync.replicas"]) == ("1", "1")
    assert (three["default.replication.factor"], three["min.insync.replicas"]) == ("3", "2")
    assert five == three


def test_an_external_zookeeper_is_used_instead_of_one_of_our_own() -> None:
    rendered = render(
        {"zookeeper": {"enabled": False}}, {"externalZookeeper": {"servers": ["a:2181", "b:2182"], "chroot": "/x"}}
    )
    assert rendered.settings("broker")["zookeeper.connect"] == "a:2181,b:2182/x"
    assert not [each for each in rendered.objects if "zookeeper" in each["metadata"]["name"]]


def test_a_broken_pod_can_be_looked_into() -> None:
    rendered = render({"diagnosticMode": {"enabled": True}})
    for name in ("broker", "zookeeper"):
        container = rendered.container("StatefulSet", name)
        assert container["command"] == ["sleep", "infinity"]
        assert not {"readinessProbe", "livenessProbe", "startupProbe"} & set(container)


def test_more_manifests_are_rendered_as_templates() -> None:
    extra = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-tidelog-more"}}
    assert render({"extraDeploy": [extra]}).one("ConfigMap", "more")


def test_what_a_parent_chart_chooses_holds_unless_ours_says_otherwise() -> None:
    chosen = {"imageRegistry": "images.example", "imagePullSecrets": ["one", {"name": "two"}], "storageClass": "fast"}
    rendered = render(
        {"global": chosen, "image": {"pullSecrets": ["three"]}, "zookeeper": {"persistence": {"storageClass": "slow"}}}
    )
    assert {each["imagePullSecrets"][-1]["name"] for each in rendered.pods().values()} == {"three"}
    broker = rendered.one("StatefulSet", "broker")["spec"]
    pod, claim = broker["template"]["spec"], broker["volumeClaimTemplates"][0]["spec"]
    assert [secret["name"] for secret in pod["imagePullSecrets"]] == ["one", "two", "three"]
    assert pod["containers"][0]["image"].startswith("images.example/tidelog:")
    assert claim["storageClassName"] == "fast"
    zookeeper = rendered.one("StatefulSet", "zookeeper")["spec"]["volumeClaimTemplates"][0]["spec"]
    assert zookeeper["storageClassName"] == "slow"
