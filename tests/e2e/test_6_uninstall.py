"""The end: nothing of the release stays but the volumes."""

from collections.abc import Callable

import pytest

from tests.e2e.kube import RELEASE, Kube, timed, until

pytestmark = pytest.mark.timeout(600)


def test_uninstall_leaves_only_the_volumes(kube: Kube, tell: Callable[[str], None]) -> None:
    claims = _names(kube, "persistentvolumeclaims")
    with timed() as seconds:
        kube.helm("uninstall", RELEASE, "--wait", "--timeout", "5m")
    took_s = seconds()
    kinds = (
        "pods,services,statefulsets,deployments,configmaps,poddisruptionbudgets,networkpolicies,serviceaccounts,jobs"
    )
    own = ["--selector", f"app.kubernetes.io/instance={RELEASE}"]
    until(lambda: not _names(kube, kinds, *own), 120, lambda: f"left: {_names(kube, kinds, *own)}")
    assert _names(kube, "persistentvolumeclaims") == claims
    assert any("broker-0" in claim for claim in claims)
    tell(
        f"helm uninstall leaves {len(claims)} volume claims and nothing else of the release's own; it takes {took_s:.0f} s"
    )


def _names(kube: Kube, *what: str) -> list[str]:
    return sorted(item["metadata"]["name"] for item in kube.get(*what)["items"])
