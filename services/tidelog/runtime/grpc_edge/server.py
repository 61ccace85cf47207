"""A process's gRPC server: its services, health that follows readiness, reflection, limits, and a drain at the end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from tidelog.runtime import logs
from tidelog.runtime.faults import cannot_listen, parse_listener
from tidelog.runtime.grpc_edge import options
from tidelog.runtime.grpc_edge.interceptor import ErrorInterceptor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tidelog.runtime.readiness import Readiness

SETTING = "grpc.listener"

# A generated add_XServicer_to_server, and the servicer that it adds.
Servicer = tuple[Callable[[Any, Any], None], Any]

# How long the last health update may take; a watcher that does not read its stream could hold it up.
_FAREWELL_SECONDS = 0.25

_logger = logs.get("grpc")


@dataclass(frozen=True, slots=True)
class GrpcLimits:
    """Bounds on what callers can cost us, and on how long we wait for them at the end."""

    # Open streams count as well; beyond this, calls are refused with RESOURCE_EXHAUSTED.
    concurrent_calls: int = 1000
    # What calls in flight get to finish in at a shutdown. Streams are ended at once.
    grace_ms: float = 5_000


@dataclass(frozen=True, slots=True)
class Serving:
    """A running server."""

    port: int


@asynccontextmanager
async def server(
    listener: str,
    servicers: Sequence[Servicer],
    service_names: Sequence[str],
    readiness: Readiness,
    limits: GrpcLimits | None = None,
    *,
    setting: str = SETTING,
) -> AsyncIterator[Serving]:
    """Serve `servicers`, given as (add_XServicer_to_server, servicer), on `host:port` until the context is left.

    `service_names` are the full names (such as "tidelog.v1.Broker") for health and reflection.
    """
    limits = limits or GrpcLimits()
    interceptor = ErrorInterceptor()
    running = grpc.aio.server(
        interceptors=(interceptor,), options=options.SERVER, maximum_concurrent_rpcs=limits.concurrent_calls
    )
    for add_to_server, servicer in servicers:
        add_to_server(servicer, running)
    checks = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(checks, running)
    reflection.enable_server_reflection((*service_names, health.SERVICE_NAME, reflection.SERVICE_NAME), running)
    port = _bind(running, listener, setting)
    await running.start()
    _logger.info("listening", port=port)
    async with _health_following(readiness, checks, ("", *service_names)):
        try:
            yield Serving(port)
        finally:
            await _drain(running, checks, interceptor, limits.grace_ms)


def _bind(running: grpc.aio.Server, listener: str, setting: str) -> int:
    host, port = parse_listener(listener, setting)
    _try_bind(host, port, listener, setting)
    address = f"[{host}]:{port}" if ":" in host or not host else f"{host}:{port}"
    try:
        bound = running.add_insecure_port(address if host else f"[::]:{port}")
    except RuntimeError as error:
        raise cannot_listen(listener, setting, OSError(errno.EADDRINUSE, str(error))) from error
    if bound == 0:
        raise cannot_listen(listener, setting, OSError(errno.EADDRINUSE, "gRPC gave no port"))
    return bound


def _try_bind(host: str, port: int, listener: str, setting: str) -> None:
    """Bind for a moment, because the system tells why an address cannot be had, while gRPC only tells that."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found:
            with socket.socket(family, kind, protocol) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    trial.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                trial.bind(address)
    except OSError as error:
        raise cannot_listen(listener, setting, error) from error


async def _drain(running: grpc.aio.Server, checks: Any, interceptor: ErrorInterceptor, grace_ms: float) -> None:
    """Tell watchers, end streams, let calls finish within the grace period, cancel the rest."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_FAREWELL_SECONDS):
            await checks.enter_graceful_shutdown()
    interceptor.end_streams()
    await running.stop(grace_ms / 1000.0)


@asynccontextmanager
async def _health_following(readiness: Readiness, checks: Any, names: Sequence[str]) -> AsyncIterator[None]:
    """Keep the health of all `names` equal to readiness; a task does it because setting it has to be awaited."""
    changed = asyncio.Event()
    changed.set()
    unsubscribe = readiness.on_change(lambda _: changed.set())
    following = asyncio.get_running_loop().create_task(_follow(readiness, checks, names, changed), name="grpc health")
    try:
        yield
    finally:
        unsubscribe()
        following.cancel()
        await asyncio.wait({following})


async def _follow(readiness: Readiness, checks: Any, names: Sequence[str], changed: asyncio.Event) -> None:
    statuses = health_pb2.HealthCheckResponse
    while True:
        await changed.wait()
        changed.clear()
        for name in names:
            await checks.set(name, statuses.SERVING if readiness.ready else statuses.NOT_SERVING)
