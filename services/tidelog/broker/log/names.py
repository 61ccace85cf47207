"""The names of the files and directories of a log."""

import re
from uuid import uuid4

from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition

LOG = ".log"
OFFSET_INDEX = ".index"
TIME_INDEX = ".timeindex"
TXN_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
SEGMENT_SUFFIXES = (LOG, OFFSET_INDEX, TIME_INDEX, TXN_INDEX)

DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"

LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
START_OFFSETS = "log-start-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"

DELETED_DIRECTORY = "-delete"
FUTURE_DIRECTORY = "-future"
DIRECTORY_NAME_MAX = 255
_PARTITION_DIRECTORY = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d+)")
_FUTURE_SUFFIX = re.compile(rf"\.[0-9a-f]{{32}}{FUTURE_DIRECTORY}$")


def offset_name(offset: int, suffix: str) -> str:
    return f"{offset:020d}{suffix}"


def offset_of(name: str, suffix: str) -> int | None:
    """The offset in the name of a file with this suffix, or None if it is another file."""
    stem = name.removesuffix(suffix)
    return int(stem) if stem != name and stem.isascii() and stem.isdigit() else None


def partition_of(name: str) -> TopicPartition | None:
    """The partition that a directory belongs to; None for other directories and for those that wait for deletion."""
    match = _PARTITION_DIRECTORY.fullmatch(name)
    if match is None or name.endswith(DELETED_DIRECTORY):
        return None
    return TopicPartition(TopicName(match["topic"]), PartitionIndex(int(match["partition"])))


def deletion_name(name: str) -> str:
    """A fresh name for a directory that waits for deletion; the topic is cut where the name would get too long."""
    suffix = f".{uuid4().hex}{DELETED_DIRECTORY}"
    return name[: DIRECTORY_NAME_MAX - len(suffix)] + suffix


def future_name(partition: TopicPartition) -> str:
    """A fresh name for a copy that is to take the place of a log; it may be longer than a file system allows."""
    return f"{partition}.{uuid4().hex}{FUTURE_DIRECTORY}"


def future_partition_of(name: str) -> TopicPartition | None:
    """The partition that such a copy belongs to; None for other directories."""
    stem, suffixes = _FUTURE_SUFFIX.subn("", name)
    return partition_of(stem) if suffixes else None
