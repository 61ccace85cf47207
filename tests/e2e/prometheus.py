"""Debian's Prometheus in the cluster under test: it finds pods by their annotations and judges by the chart's rules."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.e2e.kube import CHART, NAMESPACE, Kube

POD = "prometheus"

_SCRAPING = {
    "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "2s"},
    "rule_files": ["/etc/prometheus/rules.yaml"],
    "scrape_configs": [
        {
            "job_name": "pods",
            "kubernetes_sd_configs": [{"role": "pod", "namespaces": {"own_namespace": True}}],
            "relabel_configs": [
                {
                    "source_labels": [
                        "__meta_kubernetes_pod_phase",
                        "__meta_kubernetes_pod_annotation_prometheus_io_scrape",
                    ],
                    "regex": "Running;true",
                    "action": "keep",
                },
                {
                    "source_labels": [
                        "__meta_kubernetes_pod_ip",
                        "__meta_kubernetes_pod_annotation_prometheus_io_port",
                    ],
                    "separator": ":",
                    "target_label": "__address__",
                },
                {"source_labels": ["__meta_kubernetes_namespace"], "target_label": "namespace"},
                {"source_labels": ["__meta_kubernetes_pod_name"], "target_label": "pod"},
            ],
        }
    ],
}


def _objects() -> list[dict[str, Any]]:
    named = {"name": POD}
    subject = {"kind": "ServiceAccount", "name": POD, "namespace": NAMESPACE}
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
        "serviceAccountName": POD,
        "terminationGracePeriodSeconds": 0,
        "securityContext": security,
        "containers": [container],
        "volumes": [{"name": "files", "configMap": named}, {"name": "data", "emptyDir": {}}],
    }
    roles = "rbac.authorization.k8s.io/v1"
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    role_ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": POD}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": named},
        {"apiVersion": roles, "kind": "Role", "metadata": named, "rules": rules},
        {"apiVersion": roles, "kind": "RoleBinding", "metadata": named, "subjects": [subject], "roleRef": role_ref},
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
