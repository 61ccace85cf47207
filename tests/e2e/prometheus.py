"""Debian's Prometheus in the cluster under test: it scrapes every process and judges by the chart's rules."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.e2e.kube import CHART, NAMESPACE, Kube

POD = "prometheus"
# The groups of rules: the chart's, and the same with all durations a tenth.
AS_SHIPPED, TENFOLD = "tidelog", "tidelog-tenfold"


# Where the pods of each kind are found by name: Debian's build of Prometheus cannot ask Kubernetes for them.
_PORTS = {"broker": 9290, "controller": 9290, "group-coordinator": 9290, "metadata": 8080}
RELEASES = ("e2e", "trouble")


def _domain(release: str, component: str) -> str:
    service = f"metadata-pods-{release}" if component == "metadata" else f"{release}-tidelog-{component}-headless"
    return f"{service}.{NAMESPACE}.svc.cluster.local"


def _job(release: str, component: str, port: int) -> dict[str, Any]:
    found = {"names": [_domain(release, component)], "type": "A", "port": port, "refresh_interval": "2s"}
    labels = {"namespace": NAMESPACE, "release": release}
    relabeled = [
        *({"target_label": name, "replacement": value} for name, value in labels.items()),
        {"source_labels": ["__address__"], "target_label": "pod"},
    ]
    return {"job_name": f"{release}-{component}", "dns_sd_configs": [found], "relabel_configs": relabeled}


_SCRAPING = {
    "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "2s"},
    "rule_files": ["/etc/prometheus/rules*.yaml"],
    "scrape_configs": [_job(release, *each) for release in RELEASES for each in _PORTS.items()],
}


def _tenfold(rules: str) -> str:
    """The rules with every duration a tenth, in a group of their own."""
    found = re.compile(r"(?<=for: )(\d+)([sm])\b|(?<=\[)(\d+)([sm])(?=\])|(?<=offset )(\d+)([sm])\b")

    def shortened(match: re.Match[str]) -> str:
        number, unit = (each for each in match.groups() if each is not None)
        return f"{int(number) * {'s': 100, 'm': 6000}[unit]}ms"

    return found.sub(shortened, rules).replace(f"name: {AS_SHIPPED}\n", f"name: {TENFOLD}\n")


def _objects() -> list[dict[str, Any]]:
    named = {"name": POD}
    rules = (CHART / "alerts" / "rules.yaml").read_text()
    files = {"prometheus.yml": json.dumps(_SCRAPING), "rules.yaml": rules, "rules-tenfold.yaml": _tenfold(rules)}
    container = {
        "name": POD,
        "image": "tidelog-e2e:0.1.0",
        "command": [
            "prometheus",
            "--config.file=/etc/prometheus/prometheus.yml",
            "--storage.tsdb.path=/data",
            "--web.listen-address=:9090",
        ],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [{"name": "files", "mountPath": "/etc/prometheus"}, {"name": "data", "mountPath": "/data"}],
    }
    security = {"runAsNonRoot": True, "runAsUser": 1001, "fsGroup": 1001, "seccompProfile": {"type": "RuntimeDefault"}}
    pod = {
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "securityContext": security,
        "containers": [container],
        "volumes": [{"name": "files", "configMap": named}, {"name": "data", "emptyDir": {}}],
    }
    return [
        *(_metadata_pods(release) for release in RELEASES),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": files},
        {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": pod},
    ]


def _metadata_pods(release: str) -> dict[str, Any]:
    """The chart's service of metadata processes has one address for all of them; this one has those of the pods."""
    selector = {"app.kubernetes.io/component": "metadata", "app.kubernetes.io/instance": release}
    spec = {"clusterIP": "None", "selector": selector, "ports": [{"port": 8080}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"metadata-pods-{release}"}, "spec": spec}


@dataclass(frozen=True, slots=True)
class Prometheus:
    """Asked through the API server."""

    kube: Kube

    def start(self) -> None:
        self.kube.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": _objects()}))
        self.kube.kubectl("wait", "--for=condition=Ready", f"pod/{POD}", "--timeout=60s")

    def query(self, expression: str) -> list[float]:
        """The values of all series that the expression gives."""
        found = self._ask(f"query?query={quote(expression)}")["result"]
        return [float(each["value"][1]) for each in found]

    def names(self) -> set[str]:
        return set(self._ask("label/__name__/values"))

    def firing(self, group: str, release: str) -> set[str]:
        """The alerts of these rules that fire for the release."""
        rules = next(each["rules"] for each in self._ask("rules")["groups"] if each["name"] == group)
        return {
            rule["name"]
            for rule in rules
            for alert in rule["alerts"]
            if alert["state"] == "firing" and alert["labels"].get("release") == release
        }

    def _ask(self, what: str) -> Any:
        return json.loads(self.kube.raw(f"pods/{POD}:9090/proxy/api/v1/{what}"))["data"]
