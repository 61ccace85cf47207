"""Stops exactly what `up` started and removes its state; the cache of compiled programs stays."""

import shutil
from pathlib import Path

from tools.kube import kernel
from tools.kube.processes import Processes, succeeds
from tools.kube.settings import Settings
from tools.kube.telling import say
from tools.kube.up import locked, start_containerd


def down(settings: Settings) -> None:
    if not settings.marker.exists():
        say(f"nothing to stop: {settings.state} is not a cluster's")
        return
    with locked(settings):
        processes = Processes(settings.state)
        # Nobody may start pods anew while they are removed.
        for name in ("policies", "volumes", "kubelet", "kube-scheduler", "kube-controller-manager"):
            processes.stop(name)
        _remove_pods(settings, processes)
        for name in ("containerd", "coredns", "kube-proxy", "kube-apiserver", "etcd"):
            processes.stop(name)
        succeeds("kube-proxy", "--cleanup", "--config", settings.conf / "proxy.yaml")
        kernel.restore(settings)
        _remove_log_links(settings)
        shutil.rmtree(settings.state)
    say("down")


def _remove_pods(settings: Settings, processes: Processes) -> None:
    """Containers outlive a containerd that died, so one is needed to remove them."""
    start_containerd(settings, processes)
    say("removing pods")
    if not succeeds("remove-pods", f"unix://{settings.socket}"):
        say("some pods could not be removed")


def _remove_log_links(settings: Settings) -> None:
    for link in Path("/var/log/containers").glob("*.log"):
        if link.is_symlink() and str(link.readlink()).startswith(f"{settings.state}/"):
            link.unlink()
