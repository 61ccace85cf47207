"""What a cleaner thread is given of a segment, and how it reads it. Nothing of it changes while the thread runs."""

from typing import TYPE_CHECKING, NamedTuple

from tidelog.broker.log.batch_scan import scan_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidelog.broker.log.batch_scan import ScannedBatch
    from tidelog.broker.log.files import Files


class UncleanableError(Exception):
    """A log that cannot be compacted as it is; the sentence says why."""


class SourceSegment(NamedTuple):
    """A segment that is not written to any more. Its offsets end before `end_offset`, the base of the next one."""

    path: str
    base_offset: int
    end_offset: int
    size: int
    offset_index_bytes: int
    time_index_bytes: int
    modified_ms: int


def batches_of(files: "Files", source: SourceSegment) -> "Iterator[ScannedBatch]":
    """Every batch, in order. UncleanableError at the first that is damaged."""
    end, next_offset = 0, source.base_offset
    with files.opened(source.path, readonly=True) as fd:
        for batch in scan_batches(files, fd, source.size):
            header = batch.header
            # The offset is outside of the checksum.
            if not next_offset <= header.base_offset < header.next_offset <= source.end_offset or not batch.is_valid():
                break
            yield batch
            end, next_offset = batch.end, header.next_offset
    if end != source.size:
        raise UncleanableError(f"{source.path} is damaged at position {end}.")
