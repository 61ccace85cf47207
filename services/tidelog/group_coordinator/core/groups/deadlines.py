"""Many deadlines behind one outer timer. Putting one off, as every heartbeat does, costs two dictionary accesses."""

import heapq
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Deadlines(Generic[K]):
    """The heap has at least one entry for each key, not later than its deadline; entries that are early are put back."""

    def __init__(self) -> None:
        self._deadlines_ms: dict[K, int] = {}
        self._queued_ms: dict[K, int] = {}
        self._heap: list[tuple[int, int, K]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._deadlines_ms)

    def get(self, key: K) -> int | None:
        return self._deadlines_ms.get(key)

    def set(self, key: K, at_ms: int) -> None:
        self._deadlines_ms[key] = at_ms
        queued_ms = self._queued_ms.get(key)
        if queued_ms is None or at_ms < queued_ms:
            self._push(key, at_ms)

    def cancel(self, key: K) -> None:
        self._deadlines_ms.pop(key, None)

    def next_ms(self) -> int | None:
        """The earliest deadline."""
        while self._heap:
            queued_ms, _, key = self._heap[0]
            if self._deadlines_ms.get(key) == queued_ms:
                return queued_ms
            self._drop_first()
            deadline_ms = self._deadlines_ms.get(key)
            if deadline_ms is not None and key not in self._queued_ms:
                self._push(key, deadline_ms)
        return None

    def due(self, now_ms: int) -> Iterator[K]:
        """Take out, earliest first, what is due. No more than there were at the call, so that what is set meanwhile
        for the same moment cannot keep this going for ever.
        """
        for _ in range(len(self._deadlines_ms)):
            at_ms = self.next_ms()
            if at_ms is None or at_ms > now_ms:
                return
            key = self._drop_first()
            del self._deadlines_ms[key]
            yield key

    def _push(self, key: K, at_ms: int) -> None:
        # The count keeps keys, which need not have an order, from being compared.
        self._count += 1
        self._queued_ms[key] = at_ms
        heapq.heappush(self._heap, (at_ms, self._count, key))

    def _drop_first(self) -> K:
        queued_ms, _, key = heapq.heappop(self._heap)
        if self._queued_ms.get(key) == queued_ms:
            del self._queued_ms[key]
        return key
