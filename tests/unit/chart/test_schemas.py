"""What the chart renders is what Kubernetes accepts: checked against the schemas of its API, without a cluster."""

import kubernetes_validate
import pytest

from tests.support.chart import PROFILES, Object, render

EVERYTHING = {
    "externalAccess": {"enabled": True, "broker": {"service": {"type": "LoadBalancer", "domain": "kafka.example"}}},
    "provisioning": {"topics": [{"name": "a", "partitions": 1}], "brokerConfigs": {"log.cleaner.threads": 2}},
    "metrics": {
        "serviceMonitor": {"enabled": True},
        "prometheusRule": {"enabled": True},
        "dashboards": {"enabled": True},
    },
    "spark": {"enabled": True},
    "networkPolicy": {"allowExternal": False},
    "commonLabels": {"team": "a"},
}
KUBERNETES = ("1.30", "1.34")
# Objects of the Prometheus operator are not Kubernetes' own; their shapes are looked at in test_monitoring.
FOREIGN = "monitoring.coreos.com/v1"


@pytest.mark.parametrize("release", KUBERNETES)
@pytest.mark.parametrize("profile", [*PROFILES, None])
def test_every_object_of_a_profile_is_valid(profile: str | None, release: str) -> None:
    objects = render(profile=profile).objects
    assert len(objects) > 15
    for each in objects:
        _check(each, release)


@pytest.mark.parametrize("release", KUBERNETES)
def test_every_object_is_valid_with_everything_switched_on(release: str) -> None:
    for each in render(EVERYTHING).objects:
        _check(each, release)


def test_the_schemas_find_a_wrong_field() -> None:
    wrong = dict(render().one("StatefulSet", "broker"))
    wrong["spec"] = {**wrong["spec"], "replicaz": 3}
    with pytest.raises(kubernetes_validate.ValidationError):
        _check(wrong, KUBERNETES[-1])


def test_every_object_has_a_unique_name() -> None:
    names = [(each["kind"], each["metadata"]["name"]) for each in render(EVERYTHING).objects]
    assert len(names) == len(set(names))


def _check(each: Object, release: str) -> None:
    if each["apiVersion"] != FOREIGN:
        kubernetes_validate.validate(each, release, strict=True)
