"""The configuration files of the cluster's programs."""

import json
from pathlib import Path

from tools.kube.binaries import cni_folder
from tools.kube.settings import BRIDGE, NODE, PAUSE_IMAGE, Settings


def write_all(settings: Settings, node_ip: str, mtu: int) -> None:
    """A file is touched only if it changes: kube-proxy ends when its own is written."""
    contents = {
        "conf/containerd.toml": containerd(settings),
        "conf/kubelet.yaml": json.dumps(kubelet(settings), indent=1),
        "conf/proxy.yaml": json.dumps(proxy(settings), indent=1),
        "conf/Corefile": corefile(settings, node_ip),
        "conf/cluster.json": json.dumps(cluster_objects(settings, node_ip), indent=1),
        "cni/10-tidelog.conflist": json.dumps(network(settings, mtu), indent=1),
    }
    for name, content in contents.items():
        _write(settings.state / name, content)


def containerd(settings: Settings) -> str:
    state = settings.state
    return f"""\
version = 2
root = "{state}/containerd"
state = "{state}/run/containerd"
[grpc]
  address = "{settings.socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{state}/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  # Lowering a container's score takes a capability that root in a container may lack.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni_folder()}"
    conf_dir = "{state}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
"""


def network(settings: Settings, mtu: int) -> dict[str, object]:
    """All pods on one bridge, with addresses from the pods' range."""
    addresses = {
        "type": "host-local",
        "dataDir": str(settings.state / "cni" / "addresses"),
        "ranges": [[{"subnet": str(settings.pods)}]],
    }
    bridge = {"type": "bridge", "bridge": BRIDGE, "isDefaultGateway": True, "hairpinMode": True, "mtu": mtu}
    port_mappings = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "0.4.0", "name": "tidelog", "plugins": [{**bridge, "ipam": addresses}, port_mappings]}


def kubelet(settings: Settings) -> dict[str, object]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(settings.pki / "ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(settings.pki / "node.crt"),
        "tlsPrivateKeyFile": str(settings.pki / "node.key"),
        "containerRuntimeEndpoint": f"unix://{settings.socket}",
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "oomScoreAdj": 0,
        # kube-proxy makes the chains it needs; the kubelet's would stay behind.
        "makeIPTablesUtilChains": False,
        "clusterDomain": "cluster.local",
        "clusterDNS": [settings.dns_ip],
        "podLogsDir": str(settings.state / "pod-logs"),
        # Images are imported by hand, so none may be collected as garbage.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "nodeStatusUpdateFrequency": "5s",
    }


def proxy(settings: Settings) -> dict[str, object]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": str(settings.conf / "proxy.kubeconfig")},
        "hostnameOverride": NODE,
        "mode": "iptables",
        "clusterCIDR": str(settings.pods),
        "conntrack": {"maxPerCore": 0},
        "oomScoreAdj": 0,
        "iptables": {"minSyncPeriod": "200ms"},
    }


def corefile(settings: Settings, node_ip: str) -> str:
    return f"""\
.:{settings.dns_port} {{
    bind {node_ip}
    errors
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {settings.kubeconfig}
        pods insecure
        fallthrough in-addr.arpa
        ttl 5
    }}
    forward . /etc/resolv.conf
    cache 5
}}
"""


def cluster_objects(settings: Settings, node_ip: str) -> dict[str, object]:
    """The default storage class, and the service under which pods find the DNS server of the node."""
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "local", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
        "provisioner": "tidelog.local/directory",
        "volumeBindingMode": "WaitForFirstConsumer",
        "reclaimPolicy": "Delete",
    }
    ports = [{"name": name, "protocol": protocol} for name, protocol in (("dns", "UDP"), ("dns-tcp", "TCP"))]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kube-dns", "namespace": "kube-system"},
        "spec": {
            "clusterIP": settings.dns_ip,
            "ports": [{**port, "port": 53, "targetPort": settings.dns_port} for port in ports],
        },
    }
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kube-dns",
            "namespace": "kube-system",
            "labels": {"kubernetes.io/service-name": "kube-dns"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [node_ip], "conditions": {"ready": True}}],
        "ports": [{**port, "port": settings.dns_port} for port in ports],
    }
    return {"apiVersion": "v1", "kind": "List", "items": [storage, service, endpoints]}


def _write(file: Path, content: str) -> None:
    if not file.exists() or file.read_text() != content:
        file.write_text(content)
