"""Starts the cluster: certificates, files, kernel, then one program after the other until all of them are ready."""

import fcntl
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.kube import binaries, certificates, files, kernel
from tools.kube.processes import Command, Processes, succeeds
from tools.kube.settings import NODE, Settings
from tools.kube.telling import elapsed_s, say

_ETCD = "http://127.0.0.1:2379"


def up(settings: Settings) -> None:
    """Running it again starts only what does not run."""
    with locked(settings):
        binaries.ensure(settings)
        node_ip = _prepare(settings)
        processes = Processes(settings.state)
        _start_control_plane(settings, processes, node_ip)
        _start_node(settings, processes, node_ip)
        _wait_until_ready(settings, processes)
    say(f"Kubernetes is up after {elapsed_s():.0f} s: export KUBECONFIG={settings.kubeconfig}")


@contextmanager
def locked(settings: Settings) -> Iterator[None]:
    """Two runs at once must not compile, start or stop the same things."""
    if os.geteuid() != 0:
        raise SystemExit("The cluster's programs are the node's own: run this as root.")
    settings.cache.mkdir(parents=True, exist_ok=True)
    with (settings.cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.environ["PATH"] = f"{settings.bin}:{os.environ['PATH']}"
        os.environ["KUBECONFIG"] = str(settings.kubeconfig)
        yield


def start_containerd(settings: Settings, processes: Processes) -> None:
    processes.start("containerd", ["containerd", "--config", settings.conf / "containerd.toml", "--log-level", "warn"])
    ask = ("ctr", "--address", settings.socket, "version")
    processes.wait_until("containerd answers", lambda: succeeds(*ask), "containerd", 60)


def import_image(settings: Settings, archive: Path) -> None:
    """Bring an image into the cluster; pods must not ask for it to be pulled."""
    command: Command = ["ctr", "--address", settings.socket, "--namespace", "k8s.io", "images", "import", archive]
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def _prepare(settings: Settings) -> str:
    for folder in ("pid", "log", "run", "pki", "conf", "cni", "volumes", "kubelet"):
        (settings.state / folder).mkdir(parents=True, exist_ok=True)
    settings.marker.touch()
    node_ip, mtu = _address(settings.state / "node-ip")
    certificates.ensure(settings, node_ip)
    files.write_all(settings, node_ip, mtu)
    kernel.prepare(settings)
    return node_ip


def _address(remembered: Path) -> tuple[str, int]:
    """The node's address, which its certificates name, and the largest packet of its interface."""
    if not remembered.exists():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))  # nothing is sent; the kernel only chooses a source address
            remembered.write_text(probe.getsockname()[0])
    node_ip = remembered.read_text()
    interfaces = json.loads(subprocess.run(["ip", "-j", "-4", "address"], capture_output=True, check=True).stdout)
    mtu = next((one["mtu"] for one in interfaces for address in one["addr_info"] if address["local"] == node_ip), 1500)
    return node_ip, int(mtu)


def _start_control_plane(settings: Settings, processes: Processes, node_ip: str) -> None:
    # Data that dies with the cluster need not reach the disk.
    etcd: Command = ["--data-dir", settings.state / "etcd", "--unsafe-no-fsync", "--log-level", "warn"]
    clients = ["--listen-client-urls", _ETCD, "--advertise-client-urls", _ETCD]
    processes.start("etcd", ["etcd", *etcd, *clients, "--listen-peer-urls", "http://127.0.0.1:2380"])
    start_containerd(settings, processes)
    import_image(settings, settings.cache / "pause.tar")
    processes.wait_until("etcd answers", lambda: _connects(2379), "etcd", 60)
    processes.start("kube-apiserver", ["kube-apiserver", *_api_server_flags(settings, node_ip)])
    ready = ("kubectl", "get", "--raw", "/readyz")
    processes.wait_until("the API server is ready", lambda: succeeds(*ready), "kube-apiserver", 120)
    processes.start("kube-controller-manager", ["kube-controller-manager", *_controller_manager_flags(settings)])
    processes.start("kube-scheduler", ["kube-scheduler", *_client_flags(settings, "scheduler")])


def _start_node(settings: Settings, processes: Processes, node_ip: str) -> None:
    kubelet: Command = ["--config", settings.conf / "kubelet.yaml", "--kubeconfig", settings.conf / "node.kubeconfig"]
    root: Command = ["--root-dir", settings.state / "kubelet", "--hostname-override", NODE, "--node-ip", node_ip]
    processes.start("kubelet", ["kubelet", *kubelet, *root, "--containerd", settings.socket])
    processes.start("kube-proxy", ["kube-proxy", "--config", settings.conf / "proxy.yaml"])
    applied = ["kubectl", "apply", "--filename", str(settings.conf / "cluster.json")]
    subprocess.run(applied, check=True, stdout=subprocess.DEVNULL)
    processes.start("coredns", ["coredns", "-conf", settings.conf / "Corefile"])
    volumes: Command = ["-kubeconfig", settings.kubeconfig, "-root", settings.state / "volumes"]
    processes.start("volumes", ["volumes", *volumes])
    processes.start("policies", ["policies", "-kubeconfig", settings.kubeconfig])


def _wait_until_ready(settings: Settings, processes: Processes) -> None:
    node = ("kubectl", "wait", "--for=condition=Ready", f"node/{NODE}", "--timeout=1s")
    processes.wait_until("the node is ready", lambda: succeeds(*node), "kubelet", 120)
    account = ("kubectl", "get", "serviceaccount", "default", "--namespace", "default")
    processes.wait_until("pods can be made", lambda: succeeds(*account), "kube-controller-manager", 60)
    processes.wait_until("names are found", lambda: _resolves(settings), "coredns", 60)


def _api_server_flags(settings: Settings, node_ip: str) -> Command:
    pki = settings.pki
    return [
        *("--etcd-servers", _ETCD, "--secure-port", str(settings.api_port), "--advertise-address", node_ip),
        *("--service-cluster-ip-range", str(settings.services), "--allow-privileged"),
        *("--tls-cert-file", pki / "apiserver.crt", "--tls-private-key-file", pki / "apiserver.key"),
        *("--client-ca-file", pki / "ca.crt", "--kubelet-certificate-authority", pki / "ca.crt"),
        *(
            "--kubelet-client-certificate",
            pki / "kubelet-client.crt",
            "--kubelet-client-key",
            pki / "kubelet-client.key",
        ),
        *("--kubelet-preferred-address-types", "InternalIP"),
        *("--requestheader-client-ca-file", pki / "ca.crt", "--requestheader-allowed-names", "front-proxy"),
        *("--requestheader-username-headers", "X-Remote-User", "--requestheader-group-headers", "X-Remote-Group"),
        *("--requestheader-extra-headers-prefix", "X-Remote-Extra-"),
        *("--proxy-client-cert-file", pki / "front-proxy.crt", "--proxy-client-key-file", pki / "front-proxy.key"),
        *("--service-account-issuer", "https://kubernetes.default.svc.cluster.local"),
        *("--service-account-key-file", pki / "sa.pub", "--service-account-signing-key-file", pki / "sa.key"),
        *("--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction"),
    ]


def _controller_manager_flags(settings: Settings) -> Command:
    pki = settings.pki
    return [
        *_client_flags(settings, "controller-manager"),
        *("--root-ca-file", pki / "ca.crt", "--service-account-private-key-file", pki / "sa.key"),
        *("--cluster-signing-cert-file", pki / "ca.crt", "--cluster-signing-key-file", pki / "ca.key"),
        "--use-service-account-credentials",
    ]


def _client_flags(settings: Settings, who: str) -> Command:
    file = settings.conf / f"{who}.kubeconfig"
    alone = ["--leader-elect=false", "--bind-address", "127.0.0.1"]
    return ["--kubeconfig", file, "--authentication-kubeconfig", file, "--authorization-kubeconfig", file, *alone]


def _connects(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False


def _resolves(settings: Settings) -> bool:
    """Ask the cluster's DNS, through its service address, for the API server's address."""
    name = b"".join(bytes([len(part)]) + part for part in b"kubernetes.default.svc.cluster.local".split(b"."))
    query = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0" + name + b"\0\0\x01\0\x01"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(1)
        try:
            asking.sendto(query, (settings.dns_ip, 53))
            return asking.recv(512).endswith(socket.inet_aton(settings.api_ip))
        except OSError:
            return False
