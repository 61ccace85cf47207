"""A real Kubernetes for the pipeline: the one of TIDELOG_E2E_KUBECONFIG, or one of tools/kube, made and removed here."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.kube import NAMESPACE, ROOT, Kube
from tools.kube.settings import Settings

_ARCHIVES = ("tidelog", "tidelog-zookeeper", "tidelog-e2e", "tidelog-spark")


@pytest.fixture(scope="session")
def kube() -> Iterator[Kube]:
    given = os.environ.get("TIDELOG_E2E_KUBECONFIG")
    settings = Settings()
    own_kubectl = settings.bin / "kubectl"
    kubectl = str(own_kubectl) if own_kubectl.exists() else "kubectl"
    if given:
        found = Kube(Path(given), kubectl)
    else:
        _start_own_cluster()
        found = Kube(settings.kubeconfig, str(own_kubectl))
    _remove_namespace(found)
    found.kubectl("create", "namespace", NAMESPACE)
    found.kubectl("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
    yield found
    if not os.environ.get("TIDELOG_E2E_KEEP"):
        _remove_namespace(found)
        if not given:
            _tools("tools.kube", "down")


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """One line for each scenario, whatever pytest does with the output."""

    def print_line(text: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n  {text}")
            sys.stdout.flush()

    return print_line


def _start_own_cluster() -> None:
    if os.geteuid() != 0:
        pytest.skip("a cluster of our own needs root; or name one with TIDELOG_E2E_KUBECONFIG")
    _tools("tools.kube", "up")
    if not os.environ.get("TIDELOG_E2E_IMAGES_READY"):
        _tools("tools.images", "--e2e", "--spark", "--save")
    _tools("tools.kube", "load", *(str(ROOT / "build" / "archives" / f"{name}.tar") for name in _ARCHIVES))


def _tools(module: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, check=True)


def _remove_namespace(kube: Kube) -> None:
    kube.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=180s")
