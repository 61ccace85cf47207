"""Jobs of the chart: topics as values, the smoke test, and what they run."""

import ast
import json

from tests.support.chart import CHART, render

TOPICS = [{"name": "orders", "partitions": 6, "replicationFactor": 3, "config": {"retention.ms": 86400000}}]


def test_topics_are_handed_to_an_idempotent_job() -> None:
    rendered = render({"provisioning": {"topics": TOPICS, "brokerConfigs": {"log.cleaner.threads": 2}}})
    job = rendered.one("Job", "provisioning")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "post-install,post-upgrade"
    wanted = json.loads(rendered.one("ConfigMap", "provisioning")["data"]["wanted.json"])
    assert wanted == {
        "brokers": 3,
        "topics": [{"name": "orders", "partitions": 6, "replicationFactor": 3, "config": {"retention.ms": "86400000"}}],
        "brokerConfigs": {"log.cleaner.threads": "2"},
    }


def test_without_topics_there_is_no_job() -> None:
    assert [each["metadata"]["name"] for each in render().all("Job")] == ["t-tidelog-smoke-test"]


def test_the_scale_down_guard_waits_for_an_upgrade_that_takes_brokers_away() -> None:
    assert "scale-down-guard" not in render({"broker": {"replicaCount": 1}}).text


def test_scripts_travel_whole() -> None:
    rendered = render({"provisioning": {"topics": TOPICS}})
    for name, script in (("provisioning", "provision.py"), ("smoke-test", "smoke_test.py")):
        shipped = rendered.one("ConfigMap", name)["data"][script]
        assert ast.dump(ast.parse(shipped)) == ast.dump(ast.parse((CHART / "files" / script).read_text()))
