"""A real ZooKeeper in the hands of a test: the server that `tidelog up` starts, plus what only tests do to it."""

import os
import signal
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient

from tests.support.ports import free_port
from tidelog.local.zookeeper import EmbeddedZookeeper as LocalZookeeper


class EmbeddedZookeeper(LocalZookeeper):
    """One server with a data directory of its own, which outlasts restarts."""

    def __init__(self, data_dir: Path, port: int | None = None) -> None:
        super().__init__(data_dir, free_port() if port is None else port)

    def start_ready(self) -> "EmbeddedZookeeper":
        """Start, and wait until it serves."""
        self.start()
        self.wait_ready()
        return self

    def restart(self, *, crash: bool = True) -> None:
        """End and start again on the same data."""
        (self.kill if crash else self.stop)()
        self.start_ready()

    def pause(self) -> None:
        """Hang: connections stay open and nothing answers. Only kill ends it."""
        assert self.pid is not None, "not running"
        os.kill(self.pid, signal.SIGSTOP)

    def expire(self, client_id: tuple[int, bytes]) -> None:
        """End a session as if it had timed out: whoever connects with its id and password owns it, and closes it."""
        intruder: Any = KazooClient(self.connect, client_id=client_id)
        intruder.start()
        intruder.stop()
        intruder.close()
