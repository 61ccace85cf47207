"""A real cluster for all scenarios: the one of TIDELOG_E2E_KUBECONFIG, or one of tools/kube, made and removed here."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.client import Client
from tests.e2e.kube import NAMESPACE, ROOT, CommandFailedError, Kube
from tools.kube.settings import Settings

ARCHIVES = ("tidelog", "tidelog-zookeeper", "tidelog-e2e")


@pytest.fixture(scope="session")
def kube() -> Iterator[Kube]:
    given = os.environ.get("TIDELOG_E2E_KUBECONFIG")
    kube = Kube(Path(given)) if given else _own_cluster()
    _remove_namespace(kube)
    kube.kubectl("create", "namespace", NAMESPACE)
    # Pods that ask for more than the restricted standard allows are refused by the API server.
    kube.kubectl("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
    yield kube
    if not os.environ.get("TIDELOG_E2E_KEEP"):
        _remove_namespace(kube)
        if not given:
            _tools("tools.kube", "down")


@pytest.fixture(scope="session")
def client(kube: Kube) -> Client:
    return Client(kube)


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """One line for each scenario, whatever pytest does with the output."""

    def print_line(text: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n  {text}")
            sys.stdout.flush()

    return print_line


def _own_cluster() -> Kube:
    if os.geteuid() != 0:
        pytest.skip("a cluster of our own needs root; or name one with TIDELOG_E2E_KUBECONFIG")
    settings = Settings()
    _tools("tools.kube", "up")
    if not os.environ.get("TIDELOG_E2E_IMAGES_READY"):
        _tools("tools.images", "--e2e", "--save")
    _tools("tools.kube", "load", *(str(ROOT / "build" / "archives" / f"{name}.tar") for name in ARCHIVES))
    return Kube(settings.kubeconfig, str(settings.bin / "kubectl"))


def _tools(module: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", module, *arguments], cwd=ROOT, check=True)


def _remove_namespace(kube: Kube) -> None:
    try:
        kube.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--timeout=180s")
    except CommandFailedError as error:
        pytest.fail(f"the namespace of an earlier run cannot be removed: {error}")
