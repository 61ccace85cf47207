"""Is anybody listening there: the question behind early fencing, asked with a fresh TCP connection."""

from __future__ import annotations

import asyncio
import enum
import socket
from typing import Any


class ProbeResult(enum.Enum):
    """What a fresh connection says about a process."""

    # The machine answered, and nobody listens: the process is gone.
    REFUSED = "refused"
    # Somebody accepts connections, which need not mean that he works.
    OPEN = "open"
    # No answer in time, no way there, or no such name: nothing is known about the process.
    UNKNOWN = "unknown"


async def probe(host: str, port: int, timeout_ms: float) -> ProbeResult:
    """Try every address of `host`: one that accepts means OPEN, all refusing means REFUSED, all else UNKNOWN."""
    try:
        async with asyncio.timeout(timeout_ms / 1000.0):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
            results = [await _probe_address(family, address) for family, _, _, _, address in found]
    except (OSError, TimeoutError):
        return ProbeResult.UNKNOWN
    if ProbeResult.OPEN in results:
        return ProbeResult.OPEN
    all_refused = bool(results) and all(result is ProbeResult.REFUSED for result in results)
    return ProbeResult.REFUSED if all_refused else ProbeResult.UNKNOWN


async def _probe_address(family: int, address: Any) -> ProbeResult:
    with socket.socket(family, socket.SOCK_STREAM) as probing:
        probing.setblocking(False)  # noqa: FBT003
        try:
            await asyncio.get_running_loop().sock_connect(probing, address)
            # A free port among those that outgoing connections use can connect to itself.
            to_itself = probing.getsockname() == probing.getpeername()
        except ConnectionRefusedError:
            return ProbeResult.REFUSED
        except OSError:
            return ProbeResult.UNKNOWN
    return ProbeResult.REFUSED if to_itself else ProbeResult.OPEN
