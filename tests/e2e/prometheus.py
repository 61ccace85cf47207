"""Debian's Prometheus in the cluster under test: it scrapes every process and judges by the chart's rules."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.e2e.kube import CHART, FULLNAME, NAMESPACE, Kube

POD = "prometheus"


def _domain(component: str) -> str:
    service = "metadata-pods" if component == "metadata" else f"{FULLNAME}-{component}-headless"
    return f"{service}.{NAMESPACE}.svc.cluster.local"


# Where the pods of each kind are found by name: Debian's build of Prometheus cannot ask Kubernetes for them.
_PORTS = {"broker": 9290, "controller": 9290, "group-coordinator": 9290, "metadata": 8080}
_SCRAPING = {
    "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "2s"},
    "rule_files": ["/etc/prometheus/rules.yaml"],
    "scrape_configs": [
        {
            "job_name": component,
            "dns_sd_configs": [
                {
                    "names": [_domain(component)],
                    "type": "A",
                    "port": port,
                    "refresh_interval": "2s",
                }
            ],
            "relabel_configs": [
                {"target_label": "namespace", "replacement": NAMESPACE},
                {"source_labels": ["__address__"], "target_label": "pod"},
            ],
        }
        for component, port in _PORTS.items()
    ],
}


def _objects() -> list[dict[str, Any]]:
    named = {"name": POD}
    files = {"prometheus.yml": json.dumps(_SCRAPING), "rules.yaml": (CHART / "alerts" / "rules.yaml").read_text()}
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
    # The chart's service of metadata processes has one address for all of them.
    selector = {"app.kubernetes.io/component": "metadata"}
    service = {"clusterIP": "None", "selector": selector, "ports": [{"port": 8080}]}
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "metadata-pods"}, "spec": service},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": files},
        {"apiVersion": "v1", "kind": "Pod", "metadata": named, "spec": pod},
    ]


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

    def firing(self) -> set[str]:
        return {each["labels"]["alertname"] for each in self._ask("alerts")["alerts"] if each["state"] == "firing"}

    def _ask(self, what: str) -> Any:
        return json.loads(self.kube.raw(f"pods/{POD}:9090/proxy/api/v1/{what}"))["data"]
