"""A fast walk over all batches of a log file, in a few large reads into one buffer."""

from typing import TYPE_CHECKING, NamedTuple

from crc32c import crc32c

from tidelog.kafka.records.header import (
    CRC_START,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    MAGIC,
    SMALLEST_LENGTH,
    BatchHeader,
    read_header,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidelog.broker.log.files import Files

_CHUNK_BYTES = 1024 * 1024


class ScannedBatch(NamedTuple):
    """A batch in a file. The view is on a buffer that the next batch may overwrite: copy what must outlive the step."""

    position: int
    header: BatchHeader
    view: memoryview

    @property
    def end(self) -> int:
        return self.position + len(self.view)

    def is_valid(self) -> bool:
        """Whether the checksum is right and the header can be one that a leader stored."""
        header = self.header
        return (
            header.magic == MAGIC
            and header.last_offset_delta >= 0
            and header.records_count >= 0
            and crc32c(self.view[CRC_START:]) == header.crc
        )


def scan_batches(files: "Files", fd: int, size: int, start: int = 0) -> "Iterator[ScannedBatch]":
    """Every batch that is wholly in the first `size` bytes of a file. The walk ends where a length makes no sense."""
    buffer = bytearray(min(_CHUNK_BYTES, max(size - start, 1)))
    view, filled, buffer_at, position = memoryview(buffer), 0, start, start
    while position + HEADER_SIZE <= size:
        need = HEADER_SIZE
        if position + need <= buffer_at + filled:
            header = read_header(view, position - buffer_at)
            need = header.batch_length + LENGTH_OVERHEAD
            if header.batch_length < SMALLEST_LENGTH or position + need > size:
                return
            if position + need <= buffer_at + filled:
                at = position - buffer_at
                yield ScannedBatch(position, header, view[at : at + need])
                position += need
                continue
        if need > len(view):
            view = memoryview(bytearray(need))
        filled = files.preadv(fd, [view], position)
        buffer_at = position
        if filled < need:
            return
