"""Bounds how many segments have their files open, whatever the number of partitions."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.broker.log.segment import Segment


class OpenSegments:
    """Closes a segment that was not used for a while when too many are open.

    A clock: a use only sets a flag on the segment, which is all that the hot path pays. When room is needed, segments
    are passed in the order in which they were opened; one that was used since it was passed last is spared once.
    """

    def __init__(self, limit: int = 3000) -> None:
        self.limit = limit
        self._open: dict[Segment, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, segment: "Segment") -> None:
        while len(self._open) >= self.limit:
            self._evict_one()
        self._open[segment] = None

    def forget(self, segment: "Segment") -> None:
        self._open.pop(segment, None)

    def _evict_one(self) -> None:
        while True:
            oldest = next(iter(self._open))
            del self._open[oldest]
            if not oldest.used:
                oldest.close_files()
                return
            oldest.used = False
            self._open[oldest] = None
