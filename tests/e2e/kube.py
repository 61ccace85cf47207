"""kubectl and helm against the cluster under test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "tidelog"
NAMESPACE = os.environ.get("TIDELOG_E2E_NAMESPACE", "tidelog-e2e")
RELEASE = "e2e"
FULLNAME = "e2e-tidelog"
HELM = Path(sys.executable).parent / "helm"


class CommandFailedError(Exception):
    """kubectl or helm ended with an error; the message is what it said."""


@dataclass(frozen=True, slots=True)
class Kube:
    """One namespace of the cluster that a kubeconfig leads to."""

    kubeconfig: Path
    kubectl_program: str = "kubectl"

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        return self._run([self.kubectl_program, "--namespace", NAMESPACE, *arguments], text)

    def helm(self, *arguments: str) -> str:
        return self._run([str(HELM), "--namespace", NAMESPACE, *arguments], None)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """kubectl in the background."""
        command = [self.kubectl_program, "--namespace", NAMESPACE, *arguments]
        return subprocess.Popen(
            command, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    @contextmanager
    def forwarded(self, *services: tuple[str, int]) -> Iterator[None]:
        """Ports of services, under the same numbers on this machine."""
        running = [self.start("port-forward", f"service/{name}", str(port)) for name, port in services]
        try:
            for each in running:
                assert each.stdout is not None
                assert "Forwarding" in each.stdout.readline()
            yield
        finally:
            for each in running:
                each.kill()
                each.communicate()

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}

    def get(self, *what: str) -> Any:
        return json.loads(self.kubectl("get", *what, "--output", "json"))

    def raw(self, path: str) -> str:
        """Through the API server, which reaches every pod and service."""
        return self.kubectl("get", "--raw", f"/api/v1/namespaces/{NAMESPACE}/{path}")

    def apply(self, manifest: str) -> None:
        self.kubectl("apply", "--filename", "-", text=manifest)

    def delete_pod(self, name: str, *, force: bool = False) -> None:
        how = ["--grace-period=0", "--force"] if force else []
        self.kubectl("delete", "pod", name, "--wait=false", *how)

    def exec(self, pod: str, *command: str, text: str | None = None) -> str:
        return self.kubectl("exec", *(["--stdin"] if text else []), pod, "--", *command, text=text)

    def metric(self, pod: str, port: int, name: str) -> float:
        """The sum of a metric's series, read from the pod itself."""
        lines = self.raw(f"pods/{pod}:{port}/proxy/metrics").splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))

    def pending(self) -> str:
        """The names of pods that have no place yet."""
        pods = self.get("pods")["items"]
        return " ".join(pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] == "Pending")

    def pod_statistics(self) -> list[Any]:
        """What the kubelets know of the pods of our namespace."""
        nodes = [node["metadata"]["name"] for node in self.get("nodes")["items"]]
        answers = [self.kubectl("get", "--raw", f"/api/v1/nodes/{node}/proxy/stats/summary") for node in nodes]
        pods = [pod for answer in answers for pod in json.loads(answer)["pods"]]
        return [pod for pod in pods if pod["podRef"]["namespace"] == NAMESPACE]

    def wait_until_settled(self, timeout_s: float = 240.0) -> None:
        """Every pod that should be there is ready."""
        until(lambda: not self._unsettled(), timeout_s, lambda: f"not ready: {self._unsettled()}")

    def _unsettled(self) -> list[str]:
        owners = self.get("statefulset,deployment")["items"]
        return [
            f"{owner['metadata']['name']}: {owner['status'].get('readyReplicas', 0)} of {owner['spec']['replicas']}"
            for owner in owners
            if owner["status"].get("readyReplicas", 0) != owner["spec"]["replicas"]
            or owner["status"].get("updatedReplicas", 0) != owner["spec"]["replicas"]
            or owner["status"].get("observedGeneration") != owner["metadata"]["generation"]
        ]

    def _run(self, command: list[str], text: str | None) -> str:
        done = subprocess.run(command, env=self.environment, input=text, capture_output=True, text=True)
        if done.returncode != 0:
            raise CommandFailedError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout


def until(holds: Callable[[], bool], timeout_s: float, why: Callable[[], str] = lambda: "it did not happen") -> float:
    """Wait until it holds, and tell how long that took."""
    began = time.monotonic()
    while not holds():
        assert time.monotonic() - began < timeout_s, why()
        time.sleep(0.5)
    return time.monotonic() - began


@contextmanager
def timed() -> Iterator[Callable[[], float]]:
    began = time.monotonic()
    yield lambda: time.monotonic() - began
