"""The Spark driver of the pipeline profile: what it may do, what it runs, and what its executors look like."""

import yaml

from tests.support.chart import render


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
    arguments = render(profile="pipeline").container("Deployment", "spark-driver")["args"]
    assert arguments[:5] == ["python3", "-m", "jobs.activity", "--bootstrap", "t-tidelog.n.svc.cluster.local:9092"]
    assert arguments[5:9] == ["--checkpoint", "/var/lib/spark/checkpoint/activity", "--metrics-port", "9404"]
    assert arguments[9:] == ["--parquet", "/var/lib/spark/activity"]


def test_the_operations_job_fills_its_topic_from_all_processes() -> None:
    rendered = render({"spark": {"enabled": True, "job": "operations"}})
    arguments = rendered.container("Deployment", "spark-driver")["args"]
    places = arguments[arguments.index("--scrape") + 1].split(",")
    ports = {each["metadata"]["name"]: each["spec"]["ports"] for each in rendered.objects if each["kind"] == "Service"}
    for place in places:
        name, port = place.split(":")
        assert int(port) in {each["port"] for each in ports[name] if each["name"] == "metrics"}
    assert len(places) == 4


def test_a_batch_job_runs_once_from_the_same_image() -> None:
    batch = [{"name": "by-day", "job": "export", "args": ["--path", "/var/lib/spark/exported"]}]
    rendered = render({"spark": {"enabled": True, "batchJobs": batch}})
    job = rendered.container("Job", "spark-by-day")
    assert job["args"][2] == "jobs.export"
    assert job["args"][-3:] == ["--available-now", "--path", "/var/lib/spark/exported"]
    assert job["image"] == rendered.container("Deployment", "spark-driver")["image"]


def test_executors_share_the_checkpoint_with_the_driver() -> None:
    rendered = render(profile="pipeline")
    executor = yaml.safe_load(rendered.one("ConfigMap", "spark")["data"]["executor.yaml"])["spec"]
    driver = rendered.one("Deployment", "spark-driver")["spec"]["template"]["spec"]
    claims = [each for spec in (executor, driver) for each in spec["volumes"] if "persistentVolumeClaim" in each]
    assert claims == [{"name": "state", "persistentVolumeClaim": {"claimName": "t-tidelog-spark"}}] * 2


def test_metrics_of_queries_and_of_spark_are_scraped() -> None:
    monitored = render({"metrics": {"serviceMonitor": {"enabled": True}}}, profile="pipeline")
    paths = [each["path"] for each in monitored.one("ServiceMonitor", "")["spec"]["endpoints"]]
    assert paths == ["/metrics", "/metrics/prometheus", "/metrics/executors/prometheus"]
    ports = {each["name"]: each["port"] for each in monitored.one("Service", "spark-driver")["spec"]["ports"]}
    assert (ports["metrics"], ports["spark-ui"]) == (9404, 4040)


def test_another_application_gets_its_own_arguments_only() -> None:
    rendered = render({"spark": {"enabled": True, "application": "print(1)", "applicationArgs": ["a", "b"]}})
    assert rendered.container("Deployment", "spark-driver")["args"][1:] == [
        "/etc/spark-application/application.py",
        "a",
        "b",
    ]
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
