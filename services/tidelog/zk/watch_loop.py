"""The loop behind every watch: nothing is missed, because each watch is armed by the very read that fetches its value.

Read and arm, deliver, wait until something fired, begin again. What fires while a read is under way causes another
read, so the last value delivered is always the latest. Kazoo drops all watches with their connection; CONNECTED, with
the old session or a new one, makes every loop read again. What came and went between two reads is not seen, as with
ZooKeeper itself.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from tidelog.zk.connection import ZkState
from tidelog.zk.errors import NoNode, SessionExpired, ZkError
from tidelog.zk.operations import Children, WatchEvent
from tidelog.zk.session import ZkSession

log = logging.getLogger(__name__)

V = TypeVar("V")

# A pause before a read that failed is repeated, so that a lasting fault does not keep the processor busy.
_PAUSE_S = 0.05


class Watch(ABC, Generic[V]):
    """The loop that all watches share; starts at once. `deliver` runs on the event loop, in order of the reads."""

    def __init__(self, session: ZkSession, deliver: Callable[[V], None]) -> None:
        self._session = session
        self._deliver = deliver
        self._stopped = False
        self._fired = asyncio.Event()
        self._fired.set()
        session.add_state_listener(self._on_state)
        self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        """Deliver nothing any more."""
        self._stopped = True
        self._session.remove_state_listener(self._on_state)
        self._task.cancel()

    async def _run(self) -> None:
        seen: Hashable = None
        while True:
            await self._fired.wait()
            self._fired.clear()
            try:
                value = await self._read()
            except ZkError as error:
                log.info("a watch reads again: %s", error)
                if not await self._connected_again():
                    return
                continue
            if (mark := self._mark(value)) != seen:
                seen = mark
                # A fault in the receiver is the loop's to report, and must not end the watch.
                asyncio.get_running_loop().call_soon(self._pass_on, value)

    async def _connected_again(self) -> bool:
        """Wait to read once more; False if the session was closed."""
        await asyncio.sleep(_PAUSE_S)
        try:
            await self._session.connected()
        except SessionExpired:
            return False
        self._fired.set()
        return True

    async def _children_of(self, path: str) -> Children:
        """Read and watch the children of a node, which is created if it is missing."""
        while True:
            try:
                return await self._session.children(path, self._on_event)
            except NoNode:
                await self._session.ensure_path(path)

    def _pass_on(self, value: V) -> None:
        if not self._stopped:
            self._deliver(value)

    def _on_state(self, state: ZkState) -> None:
        if state is ZkState.CONNECTED:
            self._fired.set()

    def _on_event(self, _: WatchEvent) -> None:
        self._fired.set()

    @abstractmethod
    async def _read(self) -> V:
        """Read the present value and arm the watch."""

    @abstractmethod
    def _mark(self, value: V) -> Hashable:
        """What tells this value from one delivered before; never None."""
