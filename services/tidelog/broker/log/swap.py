"""Putting a cleaned segment in the place of those it was made from, so that a crash at any step can be mended.

The cleaner writes `.cleaned` files and syncs them; a crash before they are called `.swap` throws them away. From then on
the new segment is what counts, and loading finishes the exchange: it removes the segments that the new one covers.
"""

from typing import TYPE_CHECKING

from tidelog.broker.log.names import SEGMENT_SUFFIXES, SWAP
from tidelog.broker.log.retention import throw_away

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidelog.broker.log.log import Log
    from tidelog.broker.log.segment import Segment


def can_swap(log: "Log", old: "Sequence[Segment]", truncations: int) -> bool:
    """Whether the log is still as it was when the cleaning of these segments began."""
    present = set(log.segments)
    return not log.is_offline and log.truncations == truncations and all(segment in present for segment in old)


def begin_swap(log: "Log", new: "Segment") -> None:
    """In the owner's thread: `new` is `.cleaned`, closed and synced. The directory is to be synced before the end."""
    with log.io():
        new.rename(SWAP)
        log.pending_swap = new


def finish_swap(log: "Log", new: "Segment", old: "Sequence[Segment]", now_ms: int) -> None:
    """In the owner's thread: `old` are neighbours, not active, and go."""
    assert all(segment is not log.segments.active for segment in old), "the active segment is never cleaned"
    assert log.pending_swap is new, "a swap was given up"
    with log.io():
        throw_away(log, list(old), now_ms)
        new.rename("")
        log.segments.add(new)
        log.snapshots.keep(log.segments.bases)
        log.pending_swap = None


def give_up_swap(log: "Log") -> None:
    """What is begun must not be finished by a later start: the log is about to be cut, or has changed meanwhile."""
    new, log.pending_swap = log.pending_swap, None
    if new is not None:
        for suffix in SEGMENT_SUFFIXES:
            log.files.unlink_if_there(new.path(suffix))
        log.files.sync_dir(log.directory)


def swap_segments(log: "Log", new: "Segment", old: "Sequence[Segment]", now_ms: int) -> None:
    """All of it at once, for those who may wait for the disk."""
    begin_swap(log, new)
    with log.io():
        log.files.sync_dir(log.directory)
    finish_swap(log, new, old, now_ms)
