"""The stock client in the cluster: a load that runs while things break, and the account of what came of it."""

from __future__ import annotations

import itertools
import json
import os
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.e2e.kube import FULLNAME, ROOT, Kube

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

POD = "client"
_SCRIPT = "/tmp/load.py"
RATE = 100
# On a machine that does other things too, times are longer: TIDELOG_E2E_SLACK=3 allows three times the bounds.
SLACK = float(os.environ.get("TIDELOG_E2E_SLACK", "1"))
_LATE_S_WORTH_TELLING = 0.1
_runs = itertools.count()

_MANIFEST = f"""
apiVersion: v1
kind: Pod
metadata:
  name: {POD}
spec:
  terminationGracePeriodSeconds: 0
  automountServiceAccountToken: false
  securityContext: {{runAsNonRoot: true, runAsUser: 1001, seccompProfile: {{type: RuntimeDefault}}}}
  containers:
    - name: client
      image: tidelog-e2e:0.1.0
      securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}
"""


@dataclass(slots=True)
class Load:
    """Numbered records of one run, and what became of them once it is over."""

    topic: str
    run: str
    report: dict[str, Any] = field(default_factory=dict)

    def check(self, gap_s_max: float) -> str:
        """Nothing acknowledged is lost, nothing is there twice, and acks did not stop for longer than this."""
        report = self.report
        assert report["failed"] == 0, report
        assert report["acked"] == report["sent"] > 0, report
        assert report["missing"] == 0, report
        assert report["duplicated"] == 0, report
        assert report["longest_gap_s"] <= gap_s_max * SLACK, f"{self._gap()}, not {gap_s_max} s: {report['gaps']}"
        return f"{report['acked']} acked, 0 lost, 0 duplicated, {self._gap()}"

    def _gap(self) -> str:
        """With how late the client itself was: on a busy machine that is part of the gap."""
        gap = f"longest gap between acks {self.report['longest_gap_s']:.2f} s"
        late_s = self.report["client_late_s"]
        return gap if late_s < _LATE_S_WORTH_TELLING else f"{gap} (the client itself was late by {late_s:.2f} s)"


@dataclass(frozen=True, slots=True)
class Client:
    """The pod from which the cluster is used."""

    kube: Kube
    bootstrap: str = f"{FULLNAME}:9092"

    def start(self) -> None:
        self.kube.apply(_MANIFEST)
        self.kube.kubectl("wait", "--for=condition=Ready", f"pod/{POD}", "--timeout=120s")
        self.kube.exec(POD, "sh", "-c", f"cat >{_SCRIPT}", text=(ROOT / "tests" / "e2e" / "load.py").read_text())

    def create(self, topic: str, partitions: int = 1) -> None:
        self.call("create", topic, str(partitions), "3", "min.insync.replicas=2")

    def place(self, topic: str, brokers: str, *settings: str) -> None:
        """A topic of one partition, with its replicas on these brokers."""
        self.call("place", topic, brokers, *settings)

    def leader(self, topic: str) -> int:
        return int(self.call("leader", topic, "0"))

    def call(self, *arguments: str) -> str:
        return self.kube.exec(POD, *self._command(*arguments))

    def start_call(self, *arguments: str) -> subprocess.Popen[str]:
        return self.kube.start("exec", POD, "--", *self._command(*arguments))

    def _command(self, *arguments: str) -> list[str]:
        return ["env", f"BOOTSTRAP={self.bootstrap}", "python", _SCRIPT, *arguments]

    @contextmanager
    def load(self, topic: str, seconds: float, rate: int = RATE) -> Iterator[Load]:
        """The load runs while the block does, and at least this long; it is accounted for in the end."""
        load = Load(topic, f"run{next(_runs)}")
        producing = self.start_call("produce", topic, str(seconds), str(rate), load.run)
        assert producing.stdout is not None
        producing.stdout.readline()
        yield load
        out, err = producing.communicate(timeout=seconds + 120)
        assert producing.returncode == 0, err
        load.report = json.loads(out.splitlines()[-1])
        load.report |= json.loads(self.call("verify", topic, load.run, str(load.report["sent"])))
