"""The log of one partition: append, roll, and what is known about it up to its end.

One thread owns a log and calls it; flushing, removal of files and compaction run elsewhere on plain data that the owner
gave out, and the owner takes in the result. Everything up to `log_end_offset` is in the files (not yet on the disk); a
refusal or an IO error leaves the log as it was.
"""

from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from tidelog.broker.log.epoch_cache import EpochCache, EpochEnd
from tidelog.broker.log.follower_batches import FollowerBatch, checked_batches, pieces
from tidelog.broker.log.producer_states import ProducerStates, remember_producer
from tidelog.broker.log.segment import RELATIVE_OFFSET_MAX, Segment
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.control import EndTransactionMarker, read_marker
from tidelog.kafka.records.header import (
    CONTROL,
    FRONT,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
)
from tidelog.kafka.records.produced import check_produced

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.log.config import LogConfig
    from tidelog.broker.log.files import Files
    from tidelog.broker.log.open_segments import OpenSegments
    from tidelog.broker.log.producer_entry import BatchMark
    from tidelog.broker.log.producer_snapshot import SnapshotFiles
    from tidelog.broker.log.segment_list import SegmentList
    from tidelog.broker.log.trash import Trash
    from tidelog.kafka.types import TopicPartition


class Appended(NamedTuple):
    """The answer to an append. A duplicate gives the offsets of the batch that was stored before."""

    first_offset: int
    last_offset: int
    log_append_time_ms: int = NO_TIMESTAMP
    is_duplicate: bool = False


class LogParts(NamedTuple):
    """What a log is made of once it was loaded; see loading.py."""

    partition: "TopicPartition"
    directory: str
    config: "LogConfig"
    files: "Files"
    open_segments: "OpenSegments"
    segments: "SegmentList"
    epochs: EpochCache
    producers: ProducerStates
    snapshots: "SnapshotFiles"
    trash: "Trash"
    log_start_offset: int
    log_end_offset: int
    recovery_point: int


class Log:
    """One partition on disk. `on_io_error` is told once of every error of the file system."""

    def __init__(self, parts: LogParts, now_ms: int, on_io_error: "Callable[[OSError], None]") -> None:
        self.partition = parts.partition
        self.directory = parts.directory
        self.config = parts.config
        self.files = parts.files
        self.open_segments = parts.open_segments
        self.segments = parts.segments
        self.epochs = parts.epochs
        self.producers = parts.producers
        self.snapshots = parts.snapshots
        self.trash = parts.trash
        self.log_start_offset = parts.log_start_offset
        self.log_end_offset = parts.log_end_offset
        self.recovery_point = parts.recovery_point
        self.high_watermark = parts.log_start_offset
        self.last_flush_ms = now_ms
        # Rolled segments that no flush has covered yet: their indexes were cut after the last one.
        self.rolled_unflushed: list[Segment] = []
        # A flush that was started before a truncation must not move the recovery point after it.
        self.truncations = 0
        # A cleaned segment that is called `.swap` and not yet in its place; a truncation gives it up.
        self.pending_swap: Segment | None = None
        # Everything before is compacted; None if the cleaner has never been here.
        self.first_dirty_offset: int | None = None
        # The name of the directory itself is not durable before the first flush.
        self.is_new = False
        self.is_offline = False
        self._on_io_error = on_io_error
        self._roll_config: LogConfig | None = None
        self._roll_segment: Segment | None = None
        self._roll_ms = 0

    # Offsets

    @property
    def size(self) -> int:
        return self.segments.size

    @property
    def last_stable_offset(self) -> int:
        unstable = self.producers.first_unstable_offset
        return self.high_watermark if unstable is None else min(unstable, self.high_watermark)

    def update_high_watermark(self, high_watermark: int) -> None:
        """Set it, held within the log. Whether it may fall is the caller's decision."""
        self.high_watermark = min(max(high_watermark, self.log_start_offset), self.log_end_offset)
        self.producers.on_high_watermark(self.high_watermark)

    def end_offset_for_epoch(self, epoch: int) -> EpochEnd:
        return self.epochs.end_offset_for(epoch, self.log_end_offset)

    def assign_epoch(self, epoch: int, start_offset: int | None = None) -> None:
        """A new leader's epoch begins at the end of the log, or at a given offset, whether or not it writes."""
        with self.io():
            self.epochs.assign(epoch, self.log_end_offset if start_offset is None else start_offset)

    # Appending

    def append_as_leader(
        self,
        data: Buffer,
        leader_epoch: int,
        now_ms: int,
        *,
        zstd_allowed: bool = True,
        from_coordinator: bool = False,
    ) -> Appended:
        """Check one produced batch, give it the next offsets, and write it. KafkaError if it is refused."""
        if self.is_offline:
            self.check_online()
        rules = self.config.rules
        view, header, log_append_time_ms = check_produced(
            data, rules, now_ms, zstd_allowed=zstd_allowed, from_coordinator=from_coordinator
        )
        if len(view) > min(rules.max_message_bytes, self.config.segment_bytes):
            self._refuse_size(len(view))
        marker = read_marker(view) if header.attributes & CONTROL else None
        if header.producer_id != NO_PRODUCER_ID:
            mark = self._check_producer(header, marker, check_sequence=not from_coordinator)
            if mark is not None:
                return Appended(mark.first_offset, mark.last_offset, mark.timestamp, is_duplicate=True)
        first_offset = self.log_end_offset
        last_offset = first_offset + header.last_offset_delta
        FRONT.pack_into(view, 0, first_offset, header.batch_length, leader_epoch)
        try:
            self._write(view, first_offset, last_offset, header.max_timestamp, last_offset, now_ms)
            if leader_epoch != self.epochs.latest_epoch:
                self.epochs.assign(leader_epoch, first_offset)
            if header.producer_id != NO_PRODUCER_ID:
                remember_producer(self.producers, header, marker, first_offset, self.segments.active.txn_index)
        except OSError as error:
            raise self.io_failed(error) from error
        return Appended(first_offset, last_offset, log_append_time_ms)

    def append_as_follower(self, data: Buffer, now_ms: int) -> Appended | None:
        """Write batches as the leader stored them. None if there is not a whole one.

        CORRUPT_MESSAGE if a checksum or length is wrong; UnexpectedOffsetError if they do not follow the log.
        """
        self.check_online()
        batches = checked_batches(data, self.log_end_offset)
        if not batches:
            return None
        view = memoryview(data)
        try:
            for piece in pieces(batches, self.config.segment_bytes):
                self._append_piece(view, piece, now_ms)
        except OSError as error:
            raise self.io_failed(error) from error
        return Appended(batches[0].header.base_offset, batches[-1].header.last_offset)

    def _append_piece(self, view: memoryview, piece: list[FollowerBatch], now_ms: int) -> None:
        newest = max(piece, key=lambda batch: batch.header.max_timestamp).header
        first, last = piece[0].header, piece[-1].header
        data = view[piece[0].start : piece[-1].end]
        self._write(data, first.base_offset, last.last_offset, newest.max_timestamp, newest.last_offset, now_ms)
        for start, end, header in piece:
            if header.partition_leader_epoch > self.epochs.latest_epoch:
                self.epochs.assign(header.partition_leader_epoch, header.base_offset)
            if header.has_producer_id:
                marker = read_marker(view[start:end]) if header.is_control else None
                remember_producer(self.producers, header, marker, header.base_offset, self.segments.active.txn_index)

    def _write(
        self, data: memoryview, first_offset: int, last_offset: int, max_timestamp: int, offset_of_max: int, now_ms: int
    ) -> None:
        segment = self._segment_for(len(data), first_offset, last_offset, max_timestamp, now_ms)
        file = segment.file
        if file is not None and now_ms >= file.mark_due_ms:
            file.mark_written(segment.size, now_ms)
        segment.append(data, last_offset, max_timestamp, offset_of_max, self.config.index_interval_bytes)
        segment.note_boundary(last_offset + 1, segment.size)
        self.log_end_offset = last_offset + 1

    def _refuse_size(self, size: int) -> None:
        if size > self.config.rules.max_message_bytes:
            # It was small enough as it came, but not in the codec of the topic.
            raise KafkaError(KafkaCode.MESSAGE_TOO_LARGE, f"The batch has {size} bytes in the topic's codec.")
        raise KafkaError(KafkaCode.RECORD_LIST_TOO_LARGE, f"A batch of {size} bytes is larger than a segment.")

    def _check_producer(
        self, header: BatchHeader, marker: EndTransactionMarker | None, *, check_sequence: bool
    ) -> "BatchMark | None":
        if header.attributes & CONTROL:
            if marker is not None:
                self.producers.check_marker(header, marker)
            return None
        return self.producers.check_data(header, check_sequence=check_sequence)

    # Rolling

    def _segment_for(self, size: int, first: int, last: int, max_timestamp: int, now_ms: int) -> Segment:
        """The active segment, or a new one if what comes does not belong there any more."""
        config, active = self.config, self.segments.active
        if not active.is_writable:
            active.make_writable(config)
        if config is not self._roll_config or active is not self._roll_segment:
            self._note_roll_limit(active)
        if (
            active.size + size > config.segment_bytes
            or last - active.base_offset > RELATIVE_OFFSET_MAX
            or active.indexes_are_full
            or (active.size and self._is_old(active, max_timestamp, now_ms))
        ) and (active.size or first != active.base_offset):
            return self.roll(now_ms, first)
        return active

    def _is_old(self, segment: Segment, max_timestamp: int, now_ms: int) -> bool:
        first_timestamp = segment.first_timestamp
        if first_timestamp is None:
            first_timestamp = segment.read_first_timestamp()
        if first_timestamp >= 0 and max_timestamp >= 0:
            return max_timestamp - first_timestamp > self._roll_ms
        return now_ms - segment.created_ms > self._roll_ms

    def _note_roll_limit(self, segment: Segment) -> None:
        """The age at which a segment is rolled. The jitter spreads the rolls of partitions that were created together."""
        self._roll_config, self._roll_segment = self.config, segment
        largest = min(self.config.segment_jitter_ms, self.config.segment_ms)
        jitter_ms = crc32(f"{self.directory}/{segment.base_offset}".encode()) % largest if largest > 0 else 0
        self._roll_ms = self.config.roll_ms - jitter_ms

    def roll(self, now_ms: int, base_offset: int | None = None) -> Segment:
        """Close the active segment and begin a new one at the end of the log, or at a later offset."""
        base = self.log_end_offset if base_offset is None else base_offset
        old = self.segments.active
        old.become_inactive()
        self.snapshots.write(base, self.producers.entries.values())
        self.rolled_unflushed.append(old)
        new = self.new_segment(base, now_ms)
        self.segments.add(new)
        return new

    def new_segment(self, base_offset: int, now_ms: int) -> Segment:
        new = Segment(self.files, self.open_segments, self.directory, base_offset, sizes={}, modified_ms=now_ms)
        new.create(self.config)
        return new

    # Failing and closing

    def check_online(self) -> None:
        if self.is_offline:
            raise KafkaError(KafkaCode.KAFKA_STORAGE_ERROR, f"The log directory of {self.partition} is offline.")

    def io_failed(self, error: OSError) -> KafkaError:
        """The directory is told, and the caller gets the refusal that it shall raise."""
        self.is_offline = True
        self._on_io_error(error)
        return KafkaError(KafkaCode.KAFKA_STORAGE_ERROR, f"{self.directory}: {error}")

    def io(self) -> "IoGuard":
        """A block in which an error of the file system becomes KAFKA_STORAGE_ERROR."""
        self.check_online()
        return IoGuard(self)

    def close(self) -> bool:
        """Cut and close all files and write the producers down, so that the log opens fast.

        It is not flushed here: true says that there is something to flush.
        """
        with self.io():
            changed = self.segments.active.become_inactive()
            if self.log_end_offset not in self.snapshots.offsets and self.log_end_offset > 0:
                self.snapshots.write(self.log_end_offset, self.producers.entries.values())
                changed = True
            self.close_files()
        return changed or self.log_end_offset > self.recovery_point or bool(self.rolled_unflushed)

    def close_files(self) -> None:
        for segment in self.segments:
            segment.close_files()


class IoGuard:
    """Turns an OSError within a block into the failure of the log's directory."""

    __slots__ = ("_log",)

    def __init__(self, log: Log) -> None:
        self._log = log

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise self._log.io_failed(error) from error
