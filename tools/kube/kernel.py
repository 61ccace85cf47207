"""What the cluster changes in the kernel, and how it is put back: switches, firewall rules, the bridge, mounts."""

import re
import subprocess
from pathlib import Path

from tools.kube.processes import succeeds
from tools.kube.settings import BRIDGE, Settings

# What we, the kubelet and kube-proxy set.
_SWITCHES = (
    "net.ipv4.ip_forward",
    "net.ipv4.conf.all.route_localnet",
    "net.bridge.bridge-nf-call-iptables",
    "vm.overcommit_memory",
    "vm.panic_on_oom",
    "kernel.panic",
    "kernel.panic_on_oops",
    "kernel.keys.root_maxkeys",
    "kernel.keys.root_maxbytes",
    "net.netfilter.nf_conntrack_tcp_timeout_established",
    "net.netfilter.nf_conntrack_tcp_timeout_close_wait",
)


def prepare(settings: Settings) -> None:
    """Forward what pods send, also where the policy is to drop it."""
    for module in ("overlay", "br_netfilter"):
        succeeds("modprobe", module)  # often built in
    _remember_switches(settings.state / "sysctl")
    subprocess.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"], check=True)
    succeeds("sysctl", "-qw", "net.bridge.bridge-nf-call-iptables=1")
    for table, chain, rule in _rules(settings):
        if not succeeds("iptables", "-w", "-t", table, "-C", chain, *rule):
            subprocess.run(["iptables", "-w", "-t", table, "-I", chain, *rule], check=True)


def restore(settings: Settings) -> None:
    """Remove our rules, the chains that kubelet, kube-proxy and plugins leave behind, the bridge and all mounts."""
    for table, chain, rule in _rules(settings):
        succeeds("iptables", "-w", "-t", table, "-D", chain, *rule)
    for family in ("iptables", "ip6tables"):
        _remove_chains(family)
    succeeds("ip", "link", "delete", BRIDGE)
    if (settings.state / "sysctl").exists():
        succeeds("sysctl", "-q", "-p", settings.state / "sysctl")
    _unmount_below(settings.state)
    _remove_cgroups()


def _rules(settings: Settings) -> list[tuple[str, str, list[str]]]:
    pods, ours = str(settings.pods), ["-m", "comment", "--comment", "tidelog-kube"]
    return [
        ("filter", "FORWARD", ["-s", pods, *ours, "-j", "ACCEPT"]),
        ("filter", "FORWARD", ["-d", pods, *ours, "-j", "ACCEPT"]),
        ("nat", "POSTROUTING", ["-s", pods, "!", "-d", pods, *ours, "-j", "MASQUERADE"]),
    ]


def _remember_switches(file: Path) -> None:
    if not file.exists():
        asked = subprocess.run(["sysctl", "-e", *_SWITCHES], capture_output=True, text=True, check=False)
        file.write_text(asked.stdout)


def _remove_chains(family: str) -> None:
    """The port-mapping plugin's too, unless some other container's mapping uses them."""
    saved = subprocess.run([f"{family}-save"], capture_output=True, text=True, check=False).stdout
    ours = "KUBE-|TIDELOG-"
    left_behind = ours if re.search(r"^:CNI-DN-", saved, re.MULTILINE) else f"{ours}|CNI-HOSTPORT-"
    if re.search(left_behind, saved):
        kept = "".join(line for line in saved.splitlines(keepends=True) if not re.search(left_behind, line))
        subprocess.run([f"{family}-restore"], input=kept, text=True, check=False)


def _unmount_below(folder: Path) -> None:
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    for mount in sorted((each for each in mounts if each.startswith(f"{folder}/")), reverse=True):
        succeeds("umount", "-l", mount)


def _remove_cgroups() -> None:
    root = Path("/sys/fs/cgroup")
    for pods in [*root.glob("kubepods"), *root.glob("*/kubepods")]:
        succeeds("find", pods, "-depth", "-type", "d", "-exec", "rmdir", "{}", "+")
