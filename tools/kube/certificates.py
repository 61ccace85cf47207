"""The cluster's certificates and the kubeconfig of each of its users."""

import base64
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tools.kube.settings import NODE, Settings
from tools.kube.telling import say

if TYPE_CHECKING:
    from tools.kube.processes import Command

_DAYS = "3650"
# Who talks to the API server, and under which name it knows him.
_USERS = {
    "admin": "/O=system:masters/CN=admin",
    "controller-manager": "/CN=system:kube-controller-manager",
    "scheduler": "/CN=system:kube-scheduler",
    "proxy": "/CN=system:kube-proxy",
    "node": f"/O=system:nodes/CN=system:node:{NODE}",
}
_SERVERS = {
    "apiserver": "/CN=kube-apiserver",
    "kubelet-client": "/O=system:masters/CN=kubelet-client",
    "front-proxy": "/CN=front-proxy",
}


def ensure(settings: Settings, node_ip: str) -> None:
    """Make them all, unless they are there."""
    if (settings.pki / "complete").exists():
        return
    say("making certificates")
    settings.pki.chmod(0o700)
    _authority(settings.pki)
    names = {"apiserver": _api_names(settings, node_ip), "node": f"DNS:{NODE},IP:{node_ip},IP:127.0.0.1"}
    for who, subject in {**_SERVERS, **_USERS}.items():
        _certificate(settings.pki, who, subject, names.get(who))
    _service_account_keys(settings.pki)
    for who in _USERS:
        _kubeconfig(settings, who)
    (settings.pki / "complete").touch()


def _api_names(settings: Settings, node_ip: str) -> str:
    hosts = [
        "localhost",
        *(f"kubernetes{rest}" for rest in ("", ".default", ".default.svc", ".default.svc.cluster.local")),
    ]
    addresses = ["127.0.0.1", node_ip, settings.api_ip]
    return ",".join([*(f"DNS:{host}" for host in hosts), *(f"IP:{address}" for address in addresses)])


def _authority(pki: Path) -> None:
    _key(pki / "ca.key")
    made: Command = [
        "-x509",
        "-new",
        "-key",
        pki / "ca.key",
        "-subj",
        "/CN=tidelog-kube",
        "-days",
        _DAYS,
        "-out",
        pki / "ca.crt",
    ]
    _openssl("req", *made)


def _certificate(pki: Path, who: str, subject: str, names: str | None) -> None:
    key, extensions = pki / f"{who}.key", pki / f"{who}.ext"
    _key(key)
    lines = ["extendedKeyUsage=clientAuth,serverAuth", *([f"subjectAltName={names}"] if names else [])]
    extensions.write_text("\n".join(lines) + "\n")
    request = _openssl("req", "-new", "-key", key, "-subj", subject)
    authority: Command = ["-CA", pki / "ca.crt", "-CAkey", pki / "ca.key", "-CAcreateserial"]
    out: Command = ["-days", _DAYS, "-extfile", extensions, "-out", pki / f"{who}.crt"]
    _openssl("x509", "-req", *authority, *out, text=request)


def _service_account_keys(pki: Path) -> None:
    _openssl("genrsa", "-out", pki / "sa.key", "2048")
    _openssl("rsa", "-in", pki / "sa.key", "-pubout", "-out", pki / "sa.pub")


def _kubeconfig(settings: Settings, who: str) -> None:
    server = f"https://127.0.0.1:{settings.api_port}"
    cluster = {"server": server, "certificate-authority-data": _encoded(settings.pki / "ca.crt")}
    user = {
        "client-certificate-data": _encoded(settings.pki / f"{who}.crt"),
        "client-key-data": _encoded(settings.pki / f"{who}.key"),
    }
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tidelog", "cluster": cluster}],
        "users": [{"name": who, "user": user}],
        "contexts": [{"name": "tidelog", "context": {"cluster": "tidelog", "user": who}}],
        "current-context": "tidelog",
    }
    file = settings.conf / f"{who}.kubeconfig"
    file.touch(mode=0o600)
    file.write_text(json.dumps(content, indent=1))


def _encoded(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()


def _key(file: Path) -> None:
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", file)


def _openssl(*arguments: str | Path, text: bytes | None = None) -> bytes:
    command = ["openssl", *(str(argument) for argument in arguments)]
    done = subprocess.run(command, input=text, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.decode().strip()}")
    return done.stdout
