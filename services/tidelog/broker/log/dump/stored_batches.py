"""The batches of a file, for a tool that must say where and why it cannot go on."""

from typing import TYPE_CHECKING

from tidelog.broker.log.batch_scan import scan_batches
from tidelog.broker.log.dump.options import DumpError
from tidelog.kafka.records.header import LENGTH_AT, MAGIC, MAGIC_AT, SMALLEST_LENGTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidelog.broker.log.batch_scan import ScannedBatch
    from tidelog.broker.log.files import Files

# Up to its version: of less than this Kafka does not try to make a batch.
_START_BYTES = MAGIC_AT + 1


def batches_from(files: "Files", path: str, start: int = 0) -> "Iterator[ScannedBatch]":
    """From a position on, up to the end or to a batch that is cut short. DumpError if there is something else."""
    end, size = start, files.size(path) or 0
    with files.opened(path, readonly=True) as fd:
        for batch in scan_batches(files, fd, size, start):
            _check_version(path, batch.position, batch.header.magic)
            yield batch
            end = batch.end
        rest = files.pread(fd, _START_BYTES, end)
    if len(rest) == _START_BYTES:
        length = int.from_bytes(rest[LENGTH_AT : LENGTH_AT + 4], "big", signed=True)
        if length < SMALLEST_LENGTH:
            raise DumpError(f"{path} has no batch at position {end}: its length would be {length}.")


def _check_version(path: str, position: int, magic: int) -> None:
    if magic != MAGIC:
        raise DumpError(f"{path} has a batch of version {magic} at position {position}; only version 2 is known here.")
