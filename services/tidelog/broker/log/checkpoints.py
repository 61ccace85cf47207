"""Kafka's checkpoint files: a version, a count, and that many lines of words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition

if TYPE_CHECKING:
    from tidelog.broker.log.files import Files

_VERSION = "0"


class CorruptCheckpointError(Exception):
    """A checkpoint file whose content cannot be believed."""


def encode_checkpoint(rows: Iterable[Sequence[object]]) -> bytes:
    lines = [" ".join(map(str, row)) for row in rows]
    return "\n".join((_VERSION, str(len(lines)), *lines, "")).encode("ascii")


def decode_checkpoint(data: bytes, fields: int) -> list[list[str]]:
    """The words of every line. An empty file, as Kafka makes new ones, has none."""
    if not data:
        return []
    try:
        version, count, *lines = data.decode("ascii").splitlines()
        rows = [line.split(" ") for line in lines]
        good = version == _VERSION and int(count) == len(rows) and all(len(row) == fields for row in rows)
    except ValueError:
        good = False
    if not good:
        raise CorruptCheckpointError(f"not a checkpoint file: {data[:100]!r}")
    return rows


def write_offsets(files: "Files", path: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace one of the files that hold an offset for each partition of a log directory."""
    rows = ((partition.topic, partition.partition, offset) for partition, offset in offsets.items())
    files.replace_file(path, encode_checkpoint(rows))


def read_offsets(files: "Files", path: str) -> dict[TopicPartition, int]:
    """The offsets of such a file; none if there is no file."""
    rows = decode_checkpoint(files.read_file(path) or b"", 3)
    try:
        return {TopicPartition(TopicName(t), PartitionIndex(int(p))): int(offset) for t, p, offset in rows}
    except ValueError:
        raise CorruptCheckpointError(f"{path} has an offset that is not a number") from None
