"""A TCP forwarder that a test can cut: the way of one process to ZooKeeper, and to nothing else."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from tests.support.ports import free_port

_HOST = "127.0.0.1"


class Forwarder:
    """Passes on what comes to a port of its own. While it is cut nothing goes through, and nobody is let in."""

    def __init__(self, target_port: int) -> None:
        self.port = free_port()
        self._target_port = target_port
        self._is_cut = False
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server((_HOST, self.port))
        self._spawn(self._accept)

    def cut(self) -> None:
        self._is_cut = True
        for one in tuple(self._open):
            _shut(one)

    def mend(self) -> None:
        self._is_cut = False

    def close(self) -> None:
        self.cut()
        _shut(self._listener)
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._is_cut:
                    near.close()
                else:
                    self._spawn(self._join, near)

    def _join(self, near: socket.socket) -> None:
        """Both directions, until either side ends."""
        with near, suppress(OSError), socket.create_connection((_HOST, self._target_port), 5) as far:
            far.settimeout(None)
            self._open |= {near, far}
            back = self._spawn(_pass_on, far, near)
            _pass_on(near, far)
            back.join()
            self._open -= {near, far}

    def _spawn(self, run: Callable[..., None], *arguments: socket.socket) -> threading.Thread:
        thread = threading.Thread(target=run, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()
        return thread


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for one in (source, target):
        _shut(one)


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
