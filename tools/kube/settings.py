"""Where the cluster keeps things and which addresses it takes; each can be chosen by an environment variable."""

import os
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path

NODE = "tidelog-node"
BRIDGE = "tidelog0"
PAUSE_IMAGE = "localhost/tidelog-pause:1"


def _path(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable, default))


def _network(variable: str, default: str) -> IPv4Network:
    return IPv4Network(os.environ.get(variable, default))


def _port(variable: str, default: int) -> int:
    return int(os.environ.get(variable, default))


@dataclass(frozen=True, slots=True)
class Settings:
    """The cache survives `down`; the state does not."""

    cache: Path = field(default_factory=lambda: _path("TIDELOG_KUBE_CACHE", "/var/cache/tidelog-kube"))
    state: Path = field(default_factory=lambda: _path("TIDELOG_KUBE_STATE", "/var/lib/tidelog-kube"))
    pods: IPv4Network = field(default_factory=lambda: _network("TIDELOG_KUBE_POD_CIDR", "10.244.0.0/24"))
    services: IPv4Network = field(default_factory=lambda: _network("TIDELOG_KUBE_SERVICE_CIDR", "10.96.0.0/16"))
    api_port: int = field(default_factory=lambda: _port("TIDELOG_KUBE_API_PORT", 6443))
    dns_port: int = field(default_factory=lambda: _port("TIDELOG_KUBE_DNS_PORT", 10053))

    @property
    def bin(self) -> Path:
        return self.cache / "bin"

    @property
    def conf(self) -> Path:
        return self.state / "conf"

    @property
    def pki(self) -> Path:
        return self.state / "pki"

    @property
    def socket(self) -> Path:
        """Where containerd listens; a dockerd beside it does not notice."""
        return self.state / "run" / "containerd.sock"

    @property
    def kubeconfig(self) -> Path:
        return self.conf / "admin.kubeconfig"

    @property
    def marker(self) -> Path:
        """`down` removes only a directory that has this."""
        return self.state / ".tidelog-kube"

    @property
    def api_ip(self) -> str:
        """Kubernetes gives the first address of the range to the API server."""
        return str(self.services[1])

    @property
    def dns_ip(self) -> str:
        return str(self.services[10])
