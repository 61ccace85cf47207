"""A connection of this Python process to a cluster. Spark reuses its workers, and so do tasks these connections."""

import gc
import os
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from tidelog.client.consumer import Consumer
from tidelog.client.sync.loop_thread import LoopThread

T = TypeVar("T")

_OF_GROUPS = ("group.id", "group.instance.id")
_sessions: dict[tuple[int, tuple[tuple[str, str], ...]], "Session"] = {}


class Session:
    """The SDK's client on a thread of its own. What waits is given to it as a coroutine."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        wanted = {name: value for name, value in settings.items() if name not in _OF_GROUPS}
        self.client = Consumer({**wanted, "allow.auto.create.topics": "false", "enable.auto.commit": "false"})
        self._thread = LoopThread("pyspark-tidelog")
        try:
            self.run(self.client.start())
        except BaseException:
            self._thread.stop()
            raise

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.begin(coroutine).result()

    def begin(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start it and go on with something else."""
        return self._thread.start(coroutine)


def session_for(settings: Mapping[str, str]) -> Session:
    """The session of this process with these settings; a forked process has none of its parent's."""
    key = (os.getpid(), tuple(sorted(settings.items())))
    if key not in _sessions:
        _sessions[key] = Session(settings)
        # Spark collects garbage after every task of a worker; what is loaded by now stays, and need not be searched again.
        gc.freeze()
    return _sessions[key]
