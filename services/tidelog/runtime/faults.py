"""What an operator can put right: faults at start-up, told in one sentence instead of a traceback."""

from __future__ import annotations

import errno
import os
import socket

from tidelog.kafka.configs.listeners import split_address

_REMEDIES = {
    errno.EADDRINUSE: "stop the other process or choose another port",
    errno.EADDRNOTAVAIL: "this machine does not have that address; choose one of its own",
    errno.EACCES: "ports below 1024 need privileges; choose a higher port",
}


class StartupError(Exception):
    """The process cannot start, or cannot go on, for a reason outside the code; the message is one clear sentence."""


class PortTakenError(StartupError):
    """An address to listen on is in use."""


def cannot_listen(listener: str, setting: str, error: OSError) -> StartupError:
    """The sentence for a failed bind: the address, the setting it came from, the reason, the remedy."""
    if isinstance(error, socket.gaierror):
        reason, remedy = "the host name does not resolve", "check its spelling, or leave it empty to listen everywhere"
    else:
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        remedy = _REMEDIES.get(error.errno or 0, "choose another address")
    kind = PortTakenError if error.errno == errno.EADDRINUSE else StartupError
    return kind(f"cannot listen on {listener} ({setting}): {reason}; {remedy}")


def parse_listener(listener: str, setting: str) -> tuple[str, int]:
    """Split `host:port`; the host may be empty (every interface) or a bracketed IPv6 address."""
    try:
        return split_address(listener)
    except ValueError:
        raise StartupError(f"{setting} must be host:port, not {listener!r}") from None
