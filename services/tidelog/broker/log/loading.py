"""Opening the directory of a partition: clean up what a crash left, recover if need be, and give the log."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidelog.broker.log.checkpoints import CorruptCheckpointError
from tidelog.broker.log.epoch_cache import UNDEFINED_END, UNDEFINED_EPOCH, EpochCache
from tidelog.broker.log.log import Log, LogParts
from tidelog.broker.log.names import (
    CLEANED,
    DELETED,
    LEADER_EPOCHS,
    LOG,
    OFFSET_INDEX,
    SEGMENT_SUFFIXES,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    offset_name,
    offset_of,
)
from tidelog.broker.log.producer_snapshot import SnapshotFiles
from tidelog.broker.log.producer_states import ProducerStates, remember_producer
from tidelog.broker.log.recovery import rebuild_indexes, recover_segment
from tidelog.broker.log.replay import replay_producers
from tidelog.broker.log.segment import Segment
from tidelog.broker.log.segment_list import SegmentList
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.control import read_marker
from tidelog.kafka.records.header import NO_PRODUCER_ID

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.log.batch_scan import ScannedBatch
    from tidelog.broker.log.config import LogConfig
    from tidelog.broker.log.files import FileInfo, Files
    from tidelog.broker.log.open_segments import OpenSegments
    from tidelog.broker.log.trash import Trash
    from tidelog.kafka.types import TopicPartition


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """Which log to open, and what the checkpoints of its directory say about it."""

    partition: "TopicPartition"
    directory: str
    config: "LogConfig"
    now_ms: int
    was_clean: bool = False
    recovery_point: int = 0
    log_start_offset: int = 0
    high_watermark: int = 0


@dataclass(frozen=True, slots=True)
class LoadTools:
    """What all logs of a directory share."""

    files: "Files"
    open_segments: "OpenSegments"
    trash: "Trash"
    on_io_error: "Callable[[OSError], None]"


def load_log(request: LoadRequest, tools: LoadTools) -> Log:
    """Open a log, or make an empty one in an empty directory. OSError if the directory cannot be read or written."""
    return _Loading(request, tools).run()


class _Loading:
    """The steps of opening one log."""

    def __init__(self, request: LoadRequest, tools: LoadTools) -> None:
        self._request = request
        self._tools = tools
        self._files = tools.files
        self._config = request.config
        self._directory = request.directory
        self._producers = ProducerStates()

    def run(self) -> Log:
        request, files = self._request, self._files
        listing = self._finish_interrupted_work(files.listing(self._directory))
        self._segments = SegmentList(self._found_segments(listing))
        self._snapshots = SnapshotFiles(
            files, self._directory, [o for i in listing if (o := offset_of(i.name, SNAPSHOT)) is not None]
        )
        self._epochs = self._load_epochs()
        if not self._segments:
            self._begin_at(request.log_start_offset)
        end_offset = self._settle_end()
        start_offset = max(request.log_start_offset, self._segments.first.base_offset)
        if end_offset < start_offset:
            self._drop_all()
            self._begin_at(start_offset)
            end_offset = start_offset
        self._epochs.truncate_start(start_offset)
        self._epochs.truncate_end(end_offset)
        return self._log(start_offset, end_offset)

    def _log(self, start_offset: int, end_offset: int) -> Log:
        request, tools = self._request, self._tools
        parts = LogParts(
            partition=request.partition,
            directory=self._directory,
            config=self._config,
            files=self._files,
            open_segments=tools.open_segments,
            segments=self._segments,
            epochs=self._epochs,
            producers=self._producers,
            snapshots=self._snapshots,
            trash=tools.trash,
            log_start_offset=start_offset,
            log_end_offset=end_offset,
            recovery_point=end_offset if request.was_clean else min(request.recovery_point, end_offset),
        )
        log = Log(parts, request.now_ms, tools.on_io_error)
        log.update_high_watermark(request.high_watermark)
        return log

    # What a crash left behind

    def _finish_interrupted_work(self, listing: "list[FileInfo]") -> "list[FileInfo]":
        """Remove what was being made or deleted, and finish a swap of cleaned segments that had begun."""
        names = {info.name for info in listing}
        oldest_cleaned = min((o for name in names if (o := _base_of(name, CLEANED)) is not None), default=None)
        changed = False
        for name in names:
            if name.endswith((DELETED, CLEANED, ".tmp")) or _is_early_swap(name, oldest_cleaned):
                self._files.unlink_if_there(f"{self._directory}/{name}")
                changed = True
        swapped = [name for name in names if name.endswith(SWAP) and not _is_early_swap(name, oldest_cleaned)]
        if swapped:
            self._finish_swap(swapped, listing)
            changed = True
        return self._files.listing(self._directory) if changed else listing

    def _finish_swap(self, swapped: list[str], listing: "list[FileInfo]") -> None:
        """The swapped segments are complete: those that they stand for go, and they get their names."""
        sizes = {info.name: info.size for info in listing}
        ranges = []
        for name in swapped:
            base = offset_of(name, LOG + SWAP)
            if base is not None:
                ranges.append((base, max(self._end_of_swapped(base, sizes), base + 1)))
        for name in sizes:
            base = _base_of(name, "")
            if base is not None and any(start <= base < end for start, end in ranges):
                self._files.unlink_if_there(f"{self._directory}/{name}")
        # The log file first: once it has its name, the others only follow.
        for name in sorted(swapped, key=lambda n: not n.endswith(LOG + SWAP)):
            self._files.rename(f"{self._directory}/{name}", f"{self._directory}/{name.removesuffix(SWAP)}")
        self._files.sync_dir(self._directory)

    def _end_of_swapped(self, base: int, sizes: dict[str, int]) -> int:
        """The offset after a swapped segment, found by a walk over all of it: its index still has another name."""
        segment = Segment(
            self._files,
            self._tools.open_segments,
            self._directory,
            base,
            sizes={LOG: sizes[offset_name(base, LOG) + SWAP]},
            modified_ms=self._request.now_ms,
            suffix=SWAP,
        )
        end = segment.next_offset()
        segment.close_files()
        return end

    # What is there

    def _found_segments(self, listing: "list[FileInfo]") -> list[Segment]:
        by_name = {info.name: info for info in listing}
        bases = {o for name in by_name if (o := offset_of(name, LOG)) is not None}
        self._remove_orphans(by_name, bases)
        return [self._found_segment(base, by_name) for base in sorted(bases)]

    def _remove_orphans(self, by_name: "dict[str, FileInfo]", bases: set[int]) -> None:
        for name in by_name:
            for suffix in SEGMENT_SUFFIXES[1:]:
                offset = offset_of(name, suffix)
                if offset is not None and offset not in bases:
                    self._files.unlink_if_there(f"{self._directory}/{name}")

    def _found_segment(self, base: int, by_name: "dict[str, FileInfo]") -> Segment:
        infos = {suffix: by_name.get(offset_name(base, suffix)) for suffix in SEGMENT_SUFFIXES}
        sizes = {suffix: info.size for suffix, info in infos.items() if info is not None}
        log_info = infos[LOG]
        assert log_info is not None
        segment = self._segment(base, sizes, log_info.modified_ms)
        if not {OFFSET_INDEX, TIME_INDEX} <= sizes.keys():
            rebuild_indexes(self._files, segment, self._config)
        return segment

    def _segment(self, base: int, sizes: dict[str, int], modified_ms: int) -> Segment:
        return Segment(
            self._files,
            self._tools.open_segments,
            self._directory,
            base,
            sizes=sizes,
            modified_ms=modified_ms or self._request.now_ms,
        )

    def _load_epochs(self) -> EpochCache:
        path = f"{self._directory}/{LEADER_EPOCHS}"
        try:
            return EpochCache.load(self._files, path)
        except CorruptCheckpointError:
            # It was not written to its end. The log itself knows the epochs, if all of it is read.
            self._request = replace(self._request, was_clean=False, recovery_point=0)
            return EpochCache(self._files, path, [])

    def _begin_at(self, offset: int) -> None:
        """Its files are made, and opened for writing when something is written: most partitions wait long for that."""
        segment = self._segment(offset, {}, self._request.now_ms)
        if self._config.preallocate:
            segment.create(self._config)
            segment.close_files()
        else:
            for suffix in (LOG, OFFSET_INDEX, TIME_INDEX):
                self._files.create_file(segment.path(suffix))
        self._segments.add(segment)

    def _drop_all(self) -> None:
        for segment in self._segments:
            self._delete_now(segment)
        self._epochs.clear()
        self._producers.clear()
        self._snapshots.remove_after(-1)

    def _delete_now(self, segment: Segment) -> None:
        segment.close_files()
        for suffix in SEGMENT_SUFFIXES:
            self._files.unlink_if_there(segment.path(suffix))
        self._segments.remove(segment)

    # Where the log ends

    def _settle_end(self) -> int:
        """The log end offset, after recovery where the stop was not clean, and the producers up to there."""
        if self._request.was_clean:
            end_offset = self._segments.active.next_offset()
            self._load_producers(end_offset, replay_all=False)
        else:
            end_offset = self._recover()
        self._snapshots.remove_after(end_offset)
        self._snapshots.keep(self._segments.bases)
        return end_offset

    def _load_producers(self, end_offset: int, *, replay_all: bool) -> None:
        """From the newest snapshot up to an offset, then from the log. Without any, a clean log is not read for it."""
        snapshot = self._snapshots.read_newest(end_offset)
        if snapshot is None:
            if not replay_all:
                return
            snapshot = (self._segments.first.base_offset, [])
        taken_at, entries = snapshot
        self._producers.load(entries, self._request.now_ms, self._config)
        for segment in self._segments.from_offset(taken_at):
            if segment.base_offset < end_offset:
                replay_producers(self._producers, segment, taken_at, end_offset)

    def _recover(self) -> int:
        doubtful = self._segments.from_offset(self._request.recovery_point)
        self._check_older_indexes(before=doubtful[0].base_offset)
        self._recorded = UNDEFINED_END
        self._recorded_epochs = EpochCache(self._files, self._epochs.path, list(self._epochs.entries))
        self._epochs.truncate_end(doubtful[0].base_offset)
        self._load_producers(doubtful[0].base_offset, replay_all=True)
        self._snapshots.remove_after(doubtful[0].base_offset)
        next_offset = doubtful[0].base_offset
        for number, segment in enumerate(doubtful):
            size = segment.size
            # Only compaction leaves gaps. In another log one means that the end of the segment before was lost.
            is_gap = number > 0 and not self._config.compact and segment.base_offset != next_offset
            if is_gap or segment.base_offset < next_offset:
                self._delete_all(doubtful[number:])
                break
            if number > 0:
                self._snapshots.write(segment.base_offset, self._producers.entries.values())
            next_offset = recover_segment(self._files, segment, self._config, self._witness, next_offset)
            segment.close_files()
            if segment.size < size:
                self._delete_all(doubtful[number + 1 :])
                break
        return next_offset

    def _check_epoch(self, offset: int, epoch: int) -> None:
        """The file of epochs is made durable by every flush. Where it says otherwise, the batch was not flushed."""
        self._recorded = self._recorded_epochs.epoch_at(offset)
        if self._recorded.epoch not in (UNDEFINED_EPOCH, epoch):
            raise _unbelievable(f"epoch {epoch} where {self._recorded.epoch} is recorded")

    def _delete_all(self, segments: list[Segment]) -> None:
        """Newest first: should this be interrupted, what is left is still the beginning of the log."""
        for segment in reversed(segments):
            self._delete_now(segment)

    def _check_older_indexes(self, *, before: int) -> None:
        """Segments before the recovery point are whole; an index of theirs that is not is made again."""
        for segment in self._segments:
            if segment.base_offset < before and not _has_sane_indexes(segment):
                rebuild_indexes(self._files, segment, self._config)
            segment.close_files()

    def _witness(self, batch: "ScannedBatch", segment: Segment, next_offset: int) -> None:
        """Judge a batch whose bytes are right, and take in what it says.

        Base offset and epoch are outside of the checksum, so the other things that are known must confirm them. What was
        flushed is not judged by this: a log may have gaps from a time when it was compacted.
        """
        header = batch.header
        base_offset, epoch = header.base_offset, header.partition_leader_epoch
        if base_offset >= self._request.recovery_point:
            if base_offset != next_offset and not self._config.compact:
                raise _unbelievable(f"offset {base_offset} follows {next_offset - 1}")
            if base_offset >= self._recorded.end_offset or epoch != self._recorded.epoch:
                self._check_epoch(base_offset, epoch)
        if epoch > self._epochs.latest_epoch:
            self._epochs.assign(epoch, base_offset)
        if header.producer_id != NO_PRODUCER_ID:
            marker = read_marker(batch.view) if header.is_control else None
            remember_producer(self._producers, header, marker, header.base_offset, segment.txn_index)


def _unbelievable(reason: str) -> KafkaError:
    return KafkaError(KafkaCode.CORRUPT_MESSAGE, reason)


def _is_early_swap(name: str, oldest_cleaned: int | None) -> bool:
    """A swap file that belongs to a cleaning which had not got so far that it could be finished."""
    base = _base_of(name, SWAP)
    return oldest_cleaned is not None and base is not None and base >= oldest_cleaned


def _base_of(name: str, second_suffix: str) -> int | None:
    """The base offset in the name of any file of a segment with this second suffix."""
    if not name.endswith(second_suffix):
        return None
    offsets = (offset_of(name, suffix + second_suffix) for suffix in SEGMENT_SUFFIXES)
    return next((offset for offset in offsets if offset is not None), None)


def _has_sane_indexes(segment: Segment) -> bool:
    return segment.offset_index.is_sane(segment.size) and segment.time_index.is_sane()
