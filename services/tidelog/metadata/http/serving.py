"""Runs the FastAPI app on uvicorn inside this process's event loop."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI

from tidelog.runtime.faults import cannot_listen, parse_listener

SETTING = "http.listener"
_DRAIN_S = 2


class _Server(uvicorn.Server):
    """Signals are the lifecycle's business."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]  # uvicorn's hook
        yield


@asynccontextmanager
async def serving(listener: str, app: FastAPI) -> AsyncIterator[None]:
    """Serve until the context is left; a taken port is told in a sentence."""
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=_DRAIN_S)
    server = _Server(config)
    with _bound(listener) as sock:
        task = asyncio.create_task(server.serve(sockets=[sock]), name="http")
        try:
            yield
        finally:
            server.should_exit = True
            await asyncio.wait({task}, timeout=_DRAIN_S + 1)
            task.cancel()


def _bound(listener: str) -> socket.socket:
    host, port = parse_listener(listener, SETTING)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host or "0.0.0.0", port))  # noqa: S104  an empty host means every interface
        sock.listen(128)
    except OSError as error:
        sock.close()
        raise cannot_listen(listener, SETTING, error) from error
    return sock
