"""Jobs of the chart: topics as values, the smoke test, and what they run."""

import ast
import json
from pathlib import Path

import pytest

from tests.support.chart import CHART, Object, Rendered, render

TOPICS = [{"name": "orders", "partitions": 6, "replicationFactor": 3, "config": {"retention.ms": 86400000}}]


def _command(rendered: Rendered, job: str) -> list[str]:
    command: list[str] = rendered.container("Job", job)["command"]
    return command


def test_topics_are_handed_to_an_idempotent_job() -> None:
    rendered = render({"provisioning": {"topics": TOPICS, "brokerConfigs": {"log.cleaner.threads": 2}}})
    job = rendered.one("Job", "provisioning")
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "post-install,post-upgrade"
    assert json.loads(_command(rendered, "provisioning")[-1]) == {
        "brokers": 3,
        "topics": [{"name": "orders", "partitions": 6, "replicationFactor": 3, "config": {"retention.ms": "86400000"}}],
        "brokerConfigs": {"log.cleaner.threads": "2"},
    }


def test_without_topics_there_is_no_job() -> None:
    assert [each["metadata"]["name"] for each in render().all("Job")] == ["t-tidelog-smoke-test"]


def test_the_scale_down_guard_waits_for_an_upgrade_that_takes_brokers_away() -> None:
    assert "scale-down-guard" not in render({"broker": {"replicaCount": 1}}).text


@pytest.mark.parametrize(("name", "script"), [("provisioning", "provision.py"), ("smoke-test", "smoke_test.py")])
def test_scripts_travel_whole(name: str, script: str) -> None:
    shipped = _command(render({"provisioning": {"topics": TOPICS}}), name)[2]
    assert ast.dump(ast.parse(shipped)) == ast.dump(ast.parse((CHART / "files" / script).read_text()))


@pytest.mark.parametrize("file", sorted((CHART / "files").glob("*.py")), ids=lambda file: str(file.stem))
def test_scripts_have_nothing_that_kubernetes_would_replace(file: Path) -> None:
    """In a container's command $(NAME) stands for a variable."""
    assert "$(" not in file.read_text()


def test_helm_removes_what_its_hooks_made() -> None:
    """Hooks are not part of the release, and so helm uninstall leaves them: each must go when it is done."""
    hooks = [each for each in render({"provisioning": {"topics": TOPICS}}).objects if _hook(each)]
    assert {each["kind"] for each in hooks} == {"Job"}
    for each in hooks:
        assert "hook-succeeded" in each["metadata"]["annotations"]["helm.sh/hook-delete-policy"]
        assert each["spec"]["ttlSecondsAfterFinished"] <= 3600  # one that failed is there for a while to be looked at


def _hook(each: Object) -> bool:
    return "helm.sh/hook" in each["metadata"].get("annotations", {})
