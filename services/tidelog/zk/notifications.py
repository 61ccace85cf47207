"""Sequential notifications: nodes that tell everybody of a change, each processed once and in order."""

from collections.abc import Callable, Hashable
from contextlib import suppress

from tidelog.zk.errors import ConnectionLost, NoNode
from tidelog.zk.operations import Delete, Znode
from tidelog.zk.session import ZkSession
from tidelog.zk.watch_loop import Watch

# Long enough for every process to have seen a notification, short enough that they do not pile up. Kafka's number.
NOTIFICATION_AGE_MAX_MS = 15 * 60 * 1000


class NotificationWatch(Watch[list[tuple[int, Znode]]]):
    """Follows `<parent>/<prefix>S`: `on_notification` gets the data of every node above the highest seen, in order.

    Those that exist at the start come first. Nodes older than 15 minutes are deleted, by whoever is first.
    """

    def __init__(
        self,
        session: ZkSession,
        parent_path: str,
        prefix: str,
        on_notification: Callable[[bytes], None],
        now_ms: Callable[[], int],
    ) -> None:
        self._parent_path = parent_path
        self._prefix = prefix
        self._on_notification = on_notification
        self._now_ms = now_ms
        self._highest = -1
        super().__init__(session, self._process)

    async def _read(self) -> list[tuple[int, Znode]]:
        numbers = await self._numbers()
        nodes = await self._session.get_many([self._path(number) for number in numbers])
        present = [(number, node) for number, node in zip(numbers, nodes, strict=True) if node is not None]
        await self._purge(present)
        fresh = [(number, node) for number, node in present if number > self._highest]
        self._highest = max(self._highest, *numbers, -1)
        return fresh

    async def _numbers(self) -> list[int]:
        names = (await self._children_of(self._parent_path)).names
        numbers = (name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix))
        return sorted(int(number) for number in numbers if number.isdecimal())

    async def _purge(self, nodes: list[tuple[int, Znode]]) -> None:
        oldest_ms = self._now_ms() - NOTIFICATION_AGE_MAX_MS
        for number, node in nodes:
            if node.stat.ctime_ms < oldest_ms:
                with suppress(NoNode, ConnectionLost):
                    await self._session.multi([Delete(self._path(number))])

    def _path(self, number: int) -> str:
        return f"{self._parent_path}/{self._prefix}{number:010d}"

    def _process(self, nodes: list[tuple[int, Znode]]) -> None:
        for _, node in nodes:
            self._on_notification(node.data)

    def _mark(self, value: list[tuple[int, Znode]]) -> Hashable:
        return tuple(number for number, _ in value)
