"""Records that cannot be put into a batch yet: their topic is not known, or the buffer is full.

Each topic has a line, so that its records keep their order. What stands in line is bounded too: who goes on sending without
ever waiting is refused once the lines hold as many bytes as the buffer.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.client.core.batch import largest_record_size
from tidelog.client.records import Header


@dataclass(slots=True)
class WaitingRecord:
    """One record in line, until a time. `delivery` is whatever is told in the end."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[Header]
    timestamp: int
    partition: int | None
    delivery: Any
    give_up_at_ms: int
    size: int


class WaitingLines:
    """All lines of a producer."""

    def __init__(self, memory_bytes: int) -> None:
        self._free_bytes = memory_bytes
        self.by_topic: dict[str, deque[WaitingRecord]] = {}

    def __bool__(self) -> bool:
        return bool(self.by_topic)

    def size_of(self, key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
        return largest_record_size(key, value, headers)

    def has_room_for(self, size: int) -> bool:
        return size <= self._free_bytes

    def add(self, topic: str, record: WaitingRecord) -> None:
        self._free_bytes -= record.size
        self.by_topic.setdefault(topic, deque()).append(record)

    def first(self, topic: str) -> WaitingRecord | None:
        line = self.by_topic.get(topic)
        return line[0] if line else None

    def leave(self, topic: str) -> WaitingRecord:
        """Take the first one of a line out."""
        line = self.by_topic[topic]
        record = line.popleft()
        self._free_bytes += record.size
        if not line:
            del self.by_topic[topic]
        return record

    def expired(self, now_ms: int) -> list[tuple[str, WaitingRecord]]:
        """Take out those whose time is over. Within a line deadlines only grow."""
        found: list[tuple[str, WaitingRecord]] = []
        for topic in list(self.by_topic):
            while (first := self.first(topic)) is not None and first.give_up_at_ms <= now_ms:
                found.append((topic, self.leave(topic)))
        return found

    def next_expiry_ms(self) -> int | None:
        firsts = [line[0].give_up_at_ms for line in self.by_topic.values()]
        return min(firsts, default=None)

    def drop(self, topic: str) -> list[WaitingRecord]:
        """Take out a whole line."""
        found = []
        while self.first(topic) is not None:
            found.append(self.leave(topic))
        return found
