"""Free ports on loopback, below the ephemeral range so that no outgoing connection takes one in the meantime."""

import random
import socket
from itertools import count

_FIRST, _LAST = 15_000, 32_000
_start = random.SystemRandom().randrange(_FIRST, _LAST)
_numbers = count(_start)


def free_port() -> int:
    """A port nobody listens on now; this process does not hand it out again."""
    for number in _numbers:
        port = _FIRST + number % (_LAST - _FIRST)
        if _is_free(port):
            return port
    raise AssertionError("unreachable: count() does not end")


def free_ports(count: int) -> int:
    """The first of `count` free ports in a row."""
    while True:
        first = free_port()
        if first + count < _LAST and all(_is_free(first + i) for i in range(count)):
            for _ in range(count - 1):
                next(_numbers)
            return first


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
