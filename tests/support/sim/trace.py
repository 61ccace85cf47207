"""What happened, in order: the last lines for people, and a checksum of all of them that tells two runs apart."""

from collections import deque
from collections.abc import Callable
from zlib import crc32

_LINES_KEPT = 400


class Trace:
    def __init__(self, now_ms: Callable[[], float]) -> None:
        self.checksum = 0
        self.count = 0
        self.lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._now_ms = now_ms

    def note(self, who: str, what: str) -> None:
        line = f"{self._now_ms():12.3f} {who:4} {what}"
        self.count += 1
        self.checksum = crc32(line.encode(), self.checksum)
        self.lines.append(line)

    def tail(self, count: int = 60) -> str:
        return "\n".join(list(self.lines)[-count:])


class InvariantBroken(AssertionError):  # noqa: N818  named after what happened
    """Something that must never happen did."""
