"""What a connection has still to send: bytes and ranges of files, in order, written as fast as the socket takes them.

Everything goes through a duplicate of the transport's descriptor and never through the transport, because only so can
bytes and `sendfile` keep their order. The duplicate shares the socket, not the registration with the event loop.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable

# Small replies of one read leave in one write, up to this much; larger pieces are not worth the copy.
_JOIN_BYTES_MAX = 64 * 1024
# One connection sends so much at a time before others get their turn.
_TURN_BYTES = 4 * 1024 * 1024


@dataclass(slots=True)
class FileRange:
    """A part of a file to be sent with `sendfile`; the kernel copies it, this process never sees it."""

    fd: int
    position: int
    count: int
    # Whatever keeps the descriptor open, held until the range is sent: a closed one could be another file by then.
    keep: object = None


Part = bytes | memoryview | FileRange


class Outbox:
    __slots__ = ("_closed", "_fd", "_loop", "_on_broken", "_on_sent", "_parts", "_waits", "added_bytes", "unsent_bytes")

    def __init__(
        self, loop: AbstractEventLoop, fd: int, *, on_sent: Callable[[], None], on_broken: Callable[[], None]
    ) -> None:
        """Takes over `fd`. `on_sent` is called when something left, `on_broken` when the socket will take no more."""
        self._loop = loop
        self._fd = fd
        self._on_sent = on_sent
        self._on_broken = on_broken
        self._parts: deque[Part] = deque()
        self._waits = False
        self._closed = False
        # Everything that was ever added, and what of it has not left.
        self.added_bytes = 0
        self.unsent_bytes = 0

    def add(self, part: Part) -> None:
        size = part.count if type(part) is FileRange else len(part)  # type: ignore[arg-type]
        if size and not self._closed:
            self._parts.append(part)
            self.added_bytes += size
            self.unsent_bytes += size

    def flush(self) -> None:
        """Send what the socket takes now; the rest follows by itself."""
        if self._parts and not self._waits and not self._closed:
            self._send()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._waits:
            self._loop.remove_writer(self._fd)
        self._parts.clear()
        self.unsent_bytes = 0
        os.close(self._fd)

    def _send(self) -> None:
        before = self.unsent_bytes
        try:
            while self._parts and before - self.unsent_bytes < _TURN_BYTES:
                self._send_first()
        except BlockingIOError:
            pass
        except OSError:
            self._on_broken()
            return
        if bool(self._parts) is not self._waits:
            self._wait_if(bool(self._parts))
        if self.unsent_bytes < before:
            self._on_sent()

    def _send_first(self) -> None:
        part = self._parts[0]
        if isinstance(part, FileRange):
            sent = os.sendfile(self._fd, part.fd, part.position, part.count)
            if not sent:
                raise OSError("the file ends before the range that was promised")
            part.position += sent
            part.count -= sent
            self.unsent_bytes -= sent
            if not part.count:
                self._parts.popleft()
            return
        if len(self._parts) > 1:
            part = self._joined()
        sent = os.write(self._fd, part)
        self.unsent_bytes -= sent
        if sent == len(part):
            self._parts.popleft()
        else:
            self._parts[0] = memoryview(part)[sent:]

    def _joined(self) -> bytes | memoryview:
        """Make one piece of the small ones in front; it takes their place."""
        pieces: list[bytes | memoryview] = []
        size = 0
        while self._parts and not isinstance(self._parts[0], FileRange):
            size += len(self._parts[0])
            if pieces and size > _JOIN_BYTES_MAX:
                break
            pieces.append(self._parts.popleft())  # type: ignore[arg-type]
        joined = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._parts.appendleft(joined)
        return joined

    def _wait_if(self, more: bool) -> None:
        if more:
            self._loop.add_writer(self._fd, self._send)
        else:
            self._loop.remove_writer(self._fd)
        self._waits = more
