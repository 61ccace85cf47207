"""The control plane's edge: serving gRPC, calling it, and finding out whether a peer is there at all."""

from tidelog.runtime.grpc_edge.channel import Channel, connect
from tidelog.runtime.grpc_edge.failures import CallFailed, DeadlineExceeded, Unreachable
from tidelog.runtime.grpc_edge.probe import ProbeResult, probe
from tidelog.runtime.grpc_edge.server import GrpcLimits, Servicer, Serving, server

__all__ = [
    "CallFailed",
    "Channel",
    "DeadlineExceeded",
    "GrpcLimits",
    "ProbeResult",
    "Servicer",
    "Serving",
    "Unreachable",
    "connect",
    "probe",
    "server",
]
