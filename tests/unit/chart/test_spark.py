"""The Spark driver of the pipeline profile: what it may do, what it runs, and what its executors look like."""

import yaml

from tests.support.chart import CHART, render


def test_a_driver_may_only_do_things_in_its_own_namespace() -> None:
    rendered = render(profile="pipeline")
    kinds = {each["kind"] for each in rendered.objects}
    assert {"Role", "RoleBinding"} <= kinds
    assert not kinds & {"ClusterRole", "ClusterRoleBinding"}
    assert {rule for each in rendered.one("Role", "spark")["rules"] for rule in each["resources"]} <= {
        "pods",
        "configmaps",
        "services",
        "persistentvolumeclaims",
    }


def test_the_driver_runs_the_job_of_the_profile() -> None:
    rendered = render(profile="pipeline")
    arguments = rendered.container("Deployment", "spark-driver")["args"]
    bootstrap = "t-tidelog.n.svc.cluster.local:9092"
    assert arguments[2:] == [bootstrap, "pageviews", "pageviews-per-minute", "/var/lib/spark/checkpoint.json"]
    shipped = rendered.one("ConfigMap", "spark-application")["data"]["application.py"]
    assert shipped.strip() == (CHART / "files" / "pipeline.py").read_text().strip()


def test_another_application_gets_its_own_arguments_only() -> None:
    rendered = render({"spark": {"enabled": True, "application": "print(1)", "applicationArgs": ["a", "b"]}})
    assert rendered.container("Deployment", "spark-driver")["args"][2:] == ["a", "b"]
    assert rendered.one("ConfigMap", "spark-application")["data"]["application.py"].strip() == "print(1)"


def test_executors_keep_to_the_restricted_standard_too() -> None:
    data = render(profile="pipeline").one("ConfigMap", "spark")["data"]
    spec = yaml.safe_load(data["executor.yaml"])["spec"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["containers"][0]["securityContext"]["readOnlyRootFilesystem"]
    assert not spec["automountServiceAccountToken"]


def test_settings_of_spark_can_be_given() -> None:
    values = {
        "spark": {"enabled": True, "sparkConf": {"spark.executor.instances": 4, "spark.sql.shuffle.partitions": 7}}
    }
    lines = render(values).one("ConfigMap", "spark")["data"]["spark-defaults.conf"].splitlines()
    assert {"spark.executor.instances 4", "spark.sql.shuffle.partitions 7"} <= set(lines)


def test_only_one_driver_runs_at_a_time() -> None:
    spec = render(profile="pipeline").one("Deployment", "spark-driver")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
