"""Whether this process can still be sure that its shards are its own.

While ZooKeeper has not ended the session, nobody else is given the shards. A session that could not be heard of for as
long as its timeout may have ended. What is written then is refused by the fence; but what is in memory may be outdated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.zk.connection import ZkState

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.runtime.clock import Clock


class SessionDoubt:
    def __init__(self, session_timeout_ms: int, own_epoch: Callable[[], int | None], clock: Clock) -> None:
        self._session_timeout_ms = session_timeout_ms
        self._own_epoch = own_epoch
        self._clock = clock
        self._silent_since_ms: float | None = clock.monotonic_ms()

    def on_state(self, state: ZkState) -> None:
        """A listener for the session's state."""
        if state is ZkState.CONNECTED:
            self._silent_since_ms = None
        elif self._silent_since_ms is None:
            self._silent_since_ms = self._clock.monotonic_ms()

    def is_in_doubt(self) -> bool:
        if self._own_epoch() is None:
            return True
        since_ms = self._silent_since_ms
        return since_ms is not None and self._clock.monotonic_ms() - since_ms >= self._session_timeout_ms
