"""The programs of the cluster: some from Debian's packages, the others compiled once into the cache."""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tools import packages
from tools.kube import pause_image
from tools.kube.settings import PAUSE_IMAGE, Settings
from tools.kube.telling import say

if TYPE_CHECKING:
    from tools.kube.processes import Command

_SOURCES = Path(__file__).parent / "src"
_LINKS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet", "kubectl",
          "volumes", "policies", "remove-pods")  # fmt: skip
_PACKAGES = {"containerd": "containerd", "ctr": "containerd", "runc": "runc", "iptables": "iptables",
             "conntrack": "conntrack", "openssl": "openssl", "ip": "iproute2"}  # fmt: skip
_CNI_FOLDERS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))


def ensure(settings: Settings) -> None:
    """Everything is there afterwards; the first time this takes some ten minutes."""
    _ensure_packages()
    settings.bin.mkdir(parents=True, exist_ok=True)
    stamp = settings.cache / "stamp"
    wanted = _digest_of_sources()
    if not stamp.exists() or stamp.read_text() != wanted:
        _compile(settings)
        pause_image.write(settings.bin / "pause", PAUSE_IMAGE, settings.cache / "pause.tar")
        stamp.write_text(wanted)


def cni_folder() -> Path:
    """Where the plugins are that connect pods to the network."""
    return next((folder for folder in _CNI_FOLDERS if (folder / "bridge").exists()), _CNI_FOLDERS[0])


def _ensure_packages() -> None:
    missing = {package for program, package in _PACKAGES.items() if shutil.which(program) is None}
    if not (cni_folder() / "bridge").exists():
        missing.add("containernetworking-plugins")
    packages.ensure(missing, "The cluster")


def _digest_of_sources() -> str:
    digest = hashlib.sha256()
    for file in sorted(path for path in _SOURCES.rglob("*") if path.is_file()):
        digest.update(str(file.relative_to(_SOURCES)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _compile(settings: Settings) -> None:
    if shutil.which("go") is None:
        raise SystemExit("Kubernetes is compiled from its sources, and there is no Go (1.25 or newer) to do it with.")
    release = _kubernetes_release()
    say(f"compiling Kubernetes {release}: about ten minutes on two cores, once")
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false"}
    for program, package in (("kube", "."), ("coredns", "./coredns"), ("pause", "./pause")):
        flags = f"-s -w {_version_flags(release)}" if program == "kube" else "-s -w"
        build: Command = ["go", "build", "-ldflags", flags, "-o", settings.bin / program, package]
        subprocess.run(build, cwd=_SOURCES, env=environment, check=True)
    for link in _LINKS:
        (settings.bin / link).unlink(missing_ok=True)
        (settings.bin / link).symlink_to("kube")


def _kubernetes_release() -> str:
    found = re.search(r"k8s\.io/kubernetes (v[\d.]+)", (_SOURCES / "go.mod").read_text())
    assert found is not None, "go.mod names the Kubernetes that is compiled"
    return found[1]


def _version_flags(release: str) -> str:
    """Without these the API server would call itself v0.0.0, and helm refuse a chart that wants more."""
    major, minor, _patch = release.removeprefix("v").split(".")
    facts = {"gitVersion": release, "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(f"-X {package}.{name}={value}" for package in packages for name, value in facts.items())
