"""Logs in a temporary directory for tests, and what one wants to know about them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.batches import plain
from tidelog.broker.log.config import LogConfig
from tidelog.broker.log.files import Files
from tidelog.broker.log.loading import LoadRequest, LoadTools, load_log
from tidelog.broker.log.log import Appended, Log
from tidelog.broker.log.open_segments import OpenSegments
from tidelog.broker.log.reading import Isolation, fetch
from tidelog.broker.log.trash import Trash
from tidelog.kafka.records.header import Buffer, whole_batches
from tidelog.kafka.records.record import StoredRecord, read_records
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition

NOW = 1_700_000_000_000
PARTITION = TopicPartition(TopicName("t"), PartitionIndex(0))
SMALL = LogConfig(segment_bytes=1000, segment_index_bytes=1200, index_interval_bytes=200, retention_ms=-1)


@dataclass
class LogOnDisk:
    """A directory whose log can be opened, left without a word, and opened again."""

    path: Path
    config: LogConfig = SMALL
    files: Files = field(default_factory=Files)
    errors: list[OSError] = field(default_factory=list)
    trash: Trash = field(default_factory=Trash)
    open_segments: OpenSegments = field(default_factory=OpenSegments)

    def open(self, **fields: Any) -> Log:
        self.path.mkdir(exist_ok=True)
        request = LoadRequest(PARTITION, str(self.path), self.config, NOW, **fields)
        return load_log(request, LoadTools(self.files, self.open_segments, self.trash, self.errors.append))

    def names(self) -> set[str]:
        return {file.name for file in self.path.iterdir()}


def append(log: Log, data: Buffer | None = None, *, epoch: int = 0, now_ms: int = NOW) -> Appended:
    """Append one produced batch as the leader, by default a small one."""
    return log.append_as_leader(plain() if data is None else bytearray(data), epoch, now_ms)


def stored(log: Log) -> bytes:
    """All bytes of the log, through its segments."""
    return b"".join(segment.batch_at(0, segment.size) for segment in log.segments)


def records_of(data: bytes) -> list[StoredRecord]:
    return [
        record for start, header in whole_batches(data) for record in read_records(data[start : start + header.size])
    ]


def read_from(log: Log, offset: int, max_bytes: int = 10**9, isolation: Isolation = Isolation.LOG_END) -> bytes:
    """Everything from an offset on, by as many fetches as it takes."""
    out = b""
    while True:
        fetched = fetch(log, offset, max_bytes, isolation)
        if fetched.records is None:
            return out
        data = fetched.records.read()
        assert len(data) == fetched.records.size > 0
        at, last = list(whole_batches(data))[-1]
        out += data[: at + last.size]
        offset = last.next_offset


def offsets_of(data: bytes) -> list[int]:
    return [offset for _, h in whole_batches(data) for offset in range(h.base_offset, h.next_offset)]


def never() -> Callable[[], None]:
    """A checkpoint that must not be written."""

    def fail() -> None:
        raise AssertionError("no checkpoint is due")

    return fail
