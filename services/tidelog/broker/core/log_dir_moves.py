"""Moves of a replica between the log directories of its broker: what a request asks for, and where two logs agree.

While it is served from the one directory, a replica is copied in another. At most one copy is made at a time: a request
for a third directory replaces it, and one for the directory that the replica is in calls it off.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class EpochStart(Protocol):
    """A leader epoch and the offset of its first record."""

    @property
    def epoch(self) -> int: ...
    @property
    def start_offset(self) -> int: ...


class Move(NamedTuple):
    """What a request for a directory changes, in this order."""

    drops_copy: bool
    starts_copy: bool


def asked_move(present: str, copied_to: str | None, wanted: str) -> Move:
    """`present` is the directory of the log, `copied_to` the one of a copy that is being made."""
    return Move(
        drops_copy=copied_to is not None and copied_to != wanted, starts_copy=wanted not in (present, copied_to)
    )


def common_end(
    log: Sequence[EpochStart], log_end_offset: int, copy: Sequence[EpochStart], copy_end_offset: int
) -> int | None:
    """Up to which offset a copy that was found on disk has the records of the log; None if there is no such offset.

    After a stop the log may have lost its end, and have got another one before the copy goes on. Two logs that have a
    record of the same offset and epoch have the same records before it, so the newest epoch that both know decides.
    """
    both = {entry.epoch for entry in log} & {entry.epoch for entry in copy}
    if not both:
        return None
    epoch = max(both)
    return min(_end_of(log, epoch, log_end_offset), _end_of(copy, epoch, copy_end_offset))


def _end_of(entries: Sequence[EpochStart], epoch: int, end_offset: int) -> int:
    return next((entry.start_offset for entry in entries if entry.epoch > epoch), end_offset)
