"""A small release to make trouble in, under the eyes of a Prometheus."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.e2e.kube import CHART, ROOT, Kube, until
from tests.e2e.prometheus import AS_SHIPPED, TENFOLD, Prometheus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.client import Client

RELEASE = "trouble"
NAME = f"{RELEASE}-tidelog"
_PROCESSES = 5
_FIRE_S_MAX = 240.0
# Signals to the processes of a role, with pauses between them: role, then SIGNAL or seconds.
_SIGNAL = """
import os, pathlib, signal, sys, time
role, steps = sys.argv[1].encode(), sys.argv[2:]
found = [int(each.name) for each in pathlib.Path("/proc").glob("[0-9]*")
         if int(each.name) != os.getpid() and role in (each / "cmdline").read_bytes().split(b"\\0")]
assert found
for step in steps:
    if step.startswith("SIG"):
        for pid in found:
            os.kill(pid, getattr(signal, step))
    else:
        time.sleep(float(step))
"""
_IMPOSTOR = """
import http.server
class Metrics(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"kafka_controller_kafkacontroller_activecontrollercount 1\\n")
http.server.HTTPServer(("", 9290), Metrics).serve_forever()
"""


@dataclass(frozen=True, slots=True)
class Trouble:
    kube: Kube
    prometheus: Prometheus
    client: Client
    tell: Callable[[str], None]

    @contextmanager
    def alerts(self, *names: str, rules: str = AS_SHIPPED) -> Iterator[Callable[[], None]]:
        """Inside, the trouble is made; what is given waits until all these fire. After it they go away."""
        assert not self._firing(rules) & set(names), "fires before there is trouble"
        began = time.monotonic()
        fired_s: dict[str, float] = {}

        def all_fire() -> bool:
            for alert in self._firing(rules) & set(names):
                fired_s.setdefault(alert, time.monotonic() - began)
            return len(fired_s) == len(names)

        def wait() -> None:
            until(all_fire, _FIRE_S_MAX, lambda: f"of {names} only these fire: {list(fired_s)}")

        yield wait
        gone_s = until(lambda: not self._firing(rules) & set(names), _FIRE_S_MAX, lambda: f"{names} do not go away")
        how = ", durations a tenth," if rules == TENFOLD else ""
        for name in names:
            self.tell(
                f"{name}{how} fires {fired_s[name]:.0f} s after the trouble began, is gone {gone_s:.0f} s after it"
            )

    def _firing(self, rules: str) -> set[str]:
        return self.prometheus.firing(rules, RELEASE)

    def install(self) -> None:
        profile, more = CHART / "profiles" / "dev.yaml", ROOT / "tests" / "e2e" / "trouble.yaml"
        values = ("--values", str(profile), "--values", str(more))
        self.kube.helm("install", RELEASE, str(CHART), *values, "--wait", "--timeout", "5m")
        up = f'up{{release="{RELEASE}"}} == 1'
        until(lambda: len(self.prometheus.query(up)) == _PROCESSES, 90)

    def metric(self, name: str) -> list[float]:
        return self.prometheus.query(f'{name}{{release="{RELEASE}"}}')

    def scale(self, workload: str, replicas: int) -> None:
        self.kube.kubectl("scale", workload, f"--replicas={replicas}")

    def signal(self, pod: str, role: str, *steps: str) -> None:
        self.kube.exec(pod, "python3", "-c", _SIGNAL, role, *steps)

    @contextmanager
    def impostor(self) -> Iterator[None]:
        """A process that only says it is an active controller, and is scraped with the real one."""
        container = {
            "name": "impostor",
            "image": "tidelog:0.1.0",
            "command": ["python3", "-c", _IMPOSTOR],
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        }
        security = {"runAsNonRoot": True, "runAsUser": 1001, "seccompProfile": {"type": "RuntimeDefault"}}
        spec = {"securityContext": security, "terminationGracePeriodSeconds": 0, "containers": [container]}
        kinds = {"name": "tidelog", "instance": RELEASE, "component": "controller"}
        labels = {f"app.kubernetes.io/{kind}": value for kind, value in kinds.items()}
        metadata = {"name": "impostor", "labels": labels}
        self.kube.apply(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
        yield
        self.kube.kubectl("delete", "pod", "impostor")
