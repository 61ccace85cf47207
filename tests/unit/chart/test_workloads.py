"""The pods: who they are, where they listen, how they are probed, stopped, spread and kept in their bounds."""

import json

import pytest

from tests.support.chart import PROFILES, Object, render

STATEFUL = ("broker", "controller", "group-coordinator", "zookeeper")
SERVICES = (
    ("StatefulSet", "broker"),
    ("StatefulSet", "controller"),
    ("StatefulSet", "group-coordinator"),
    ("Deployment", "metadata"),
)


@pytest.mark.parametrize("profile", PROFILES)
def test_all_pods_keep_to_the_restricted_standard(profile: str) -> None:
    for name, spec in render(profile=profile).pods().items():
        assert spec["securityContext"]["runAsNonRoot"], name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"]
            assert not context["allowPrivilegeEscalation"]
            assert context["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("profile", ["dev", "ha"])
def test_no_pod_gets_a_token_and_no_object_is_of_the_whole_cluster(profile: str) -> None:
    rendered = render(profile=profile)
    assert all(not spec["automountServiceAccountToken"] for spec in rendered.pods().values())
    kinds = {each["kind"] for each in rendered.objects}
    assert not kinds & {"ClusterRole", "ClusterRoleBinding", "Role", "CustomResourceDefinition"}


def test_ids_are_the_numbers_of_pods() -> None:
    rendered = render(profile="ha")
    index = {"fieldRef": {"fieldPath": "metadata.labels['apps.kubernetes.io/pod-index']"}}
    variables = {
        "broker": "TIDELOG_BROKER_ID",
        "controller": "TIDELOG_CONTROLLER_ID",
        "group-coordinator": "TIDELOG_COORDINATOR_ID",
    }
    for component, variable in variables.items():
        assert rendered.environment("StatefulSet", component)[variable] == index


def test_brokers_advertise_names_to_clients_and_addresses_to_each_other() -> None:
    advertised = render().environment("StatefulSet", "broker")["TIDELOG_ADVERTISED_LISTENERS"]
    assert advertised == (
        "CLIENT://$(POD_NAME).t-tidelog-broker-headless.n.svc.cluster.local:9092,INTERNAL://$(POD_IP):9094"
    )


def test_metadata_knows_every_controller() -> None:
    settings = render({"controller": {"replicaCount": 2}}).settings("metadata")
    domain = "t-tidelog-controller-headless.n.svc.cluster.local:9190"
    assert settings["controllers"] == f"t-tidelog-controller-0.{domain},t-tidelog-controller-1.{domain}"


@pytest.mark.parametrize(("kind", "name"), SERVICES)
def test_processes_are_probed_and_drained_within_the_grace_period(kind: str, name: str) -> None:
    rendered = render(profile="ha")
    container = rendered.container(kind, name)
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert container["startupProbe"]["httpGet"]["path"] == "/livez"
    grace_s = rendered.one(kind, name)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    sleep_s = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
    assert int(rendered.settings(name)["shutdown.timeout.ms"]) / 1000 + sleep_s < grace_s


def test_liveness_outlasts_readiness() -> None:
    """A process that is busy is taken out of service long before it is killed."""
    for kind, name in SERVICES:
        container = render().container(kind, name)
        ready, live = container["readinessProbe"], container["livenessProbe"]
        assert live["periodSeconds"] * live["failureThreshold"] > 5 * ready["periodSeconds"] * ready["failureThreshold"]


def test_more_brokers_restart_none_of_those_that_run() -> None:
    templates = [
        render({"broker": {"replicaCount": count}}).one("StatefulSet", "broker")["spec"]["template"] for count in (3, 5)
    ]
    assert templates[0] == templates[1]


@pytest.mark.parametrize("component", ["broker", "controller", "group-coordinator"])
def test_a_changed_setting_restarts_the_processes_that_read_it(component: str) -> None:
    before, after = (
        render({"overrideConfiguration": settings}).one("StatefulSet", component)["spec"]["template"]["metadata"]
        for settings in ({}, {"request.timeout.ms": 1})
    )
    assert before["annotations"]["checksum/config"] != after["annotations"]["checksum/config"]


def test_selectors_and_claims_never_change() -> None:
    """Kubernetes refuses an upgrade that changes them; here is what every release has to keep."""
    for component in STATEFUL:
        spec = render(profile="ha").one("StatefulSet", component)["spec"]
        labels = {"name": "tidelog", "instance": "t", "component": component}
        assert spec["selector"]["matchLabels"] == {f"app.kubernetes.io/{key}": value for key, value in labels.items()}
        assert spec["serviceName"] == f"t-tidelog-{component}-headless"
        assert spec["podManagementPolicy"] == "Parallel"
        assert [claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])] in ([], ["data"])


def test_headless_services_publish_pods_that_are_not_ready() -> None:
    for component in STATEFUL:
        spec = render(profile="ha").one("Service", f"{component}-headless")["spec"]
        assert spec["clusterIP"] == "None"
        assert spec["publishNotReadyAddresses"]


def test_budgets_let_one_pod_go_where_there_are_several() -> None:
    budgets = {each["metadata"]["name"]: each["spec"] for each in render(profile="ha").all("PodDisruptionBudget")}
    assert set(budgets) == {f"t-tidelog-{name}" for name in (*STATEFUL, "metadata")}
    assert all(spec["maxUnavailable"] == 1 for spec in budgets.values())
    assert render(profile="dev").all("PodDisruptionBudget") == []


def test_pods_are_spread_over_hosts_and_zones_softly() -> None:
    spec = render().one("StatefulSet", "broker")["spec"]["template"]["spec"]
    assert "preferredDuringSchedulingIgnoredDuringExecution" in spec["affinity"]["podAntiAffinity"]
    assert spec["topologySpreadConstraints"][0]["whenUnsatisfiable"] == "ScheduleAnyway"
    hard = render({"broker": {"podAntiAffinityPreset": "hard"}}).one("StatefulSet", "broker")
    assert "required" in json.dumps(hard["spec"]["template"]["spec"]["affinity"])


def test_the_rack_is_a_value_or_a_label_of_the_pod() -> None:
    assert render({"broker": {"rack": "a"}}).settings("broker")["broker.rack"] == "a"
    labelled = render({"broker": {"rackPodLabel": "topology.kubernetes.io/zone"}})
    path = "metadata.labels['topology.kubernetes.io/zone']"
    assert labelled.environment("StatefulSet", "broker")["TIDELOG_BROKER_RACK"] == {"fieldRef": {"fieldPath": path}}


def test_zookeeper_servers_know_each_other() -> None:
    text: str = render(profile="ha").one("ConfigMap", "zookeeper")["data"]["zoo.cfg"]
    servers = [line for line in text.splitlines() if line.startswith("server.")]
    assert len(servers) == 3
    assert servers[0] == (
        "server.1=t-tidelog-zookeeper-0.t-tidelog-zookeeper-headless.n.svc.cluster.local:2888:3888;2181"
    )
    alone: str = render(profile="dev").one("ConfigMap", "zookeeper")["data"]["zoo.cfg"]
    assert "server." not in alone.replace("admin.enableServer", "")


def test_what_is_not_kept_lives_in_the_pod() -> None:
    spec: Object = render(profile="dev").one("StatefulSet", "broker")["spec"]
    assert "volumeClaimTemplates" not in spec
    assert {"name": "data", "emptyDir": {}} in spec["template"]["spec"]["volumes"]


def test_a_broker_is_not_ready_before_it_is_in_sync() -> None:
    """The next broker of a rollout is taken when this one is ready, so no time may make it ready."""
    assert render().settings("broker")["replica.catch.up.timeout.ms"] == "-1"


def test_a_broker_does_not_stop_while_another_is_away() -> None:
    """A rollout does not look at brokers that were away before it began, so the one that is to stop does."""
    rendered = render({"broker": {"terminationGracePeriodSeconds": 100, "preStopSleepSeconds": 5}})
    settings = rendered.settings("broker")
    assert settings["shutdown.timeout.ms"] == "90000"
    assert settings["controlled.shutdown.replicas.wait.ms"] == "36000"
