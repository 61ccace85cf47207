"""The machine stops at every possible moment of a workload: what is found afterwards is right, every time."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.support.batches import batch, plain
from tests.support.crashing_files import Disk, JournalFiles, crash_states
from tests.support.logs import NOW, SMALL, read_from, stored
from tidelog.broker.log.batch_scan import scan_batches
from tidelog.broker.log.files import Files
from tidelog.broker.log.flush import flush_now
from tidelog.broker.log.log import Log
from tidelog.broker.log.log_store import LogStore
from tidelog.broker.log.names import CLEANED, SEGMENT_SUFFIXES
from tidelog.broker.log.open_segments import OpenSegments
from tidelog.broker.log.segment import Segment
from tidelog.broker.log.swap import can_swap, swap_segments
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType, encode_marker
from tidelog.kafka.records.header import TRANSACTIONAL, whole_batches
from tidelog.kafka.records.record import Record
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition

PARTITION = TopicPartition(TopicName("t"), PartitionIndex(0))
CONFIG = replace(SMALL, segment_bytes=600, segment_index_bytes=240)
Batches = dict[int, bytes]


@dataclass
class Moment:
    """What was true when the journal had this length: all batches by offset, and how far they were safely on the disk."""

    journal: int
    batches: Batches
    start: int
    flushed: int


@dataclass
class Workload:
    """Runs a script and takes down the truth after every step."""

    root: Path
    files: JournalFiles = field(default_factory=JournalFiles)
    moments: list[Moment] = field(default_factory=lambda: [Moment(0, {}, 0, 0)])
    producers: dict[bytes, object] = field(default_factory=dict)
    sequence: int = 0
    epoch: int = 0

    def start(self) -> None:
        self.store = LogStore(self.files, [str(self.root)], lambda _: CONFIG, lambda _, error: pytest.fail(str(error)))
        self.store.load(NOW)

    @property
    def log(self) -> Log:
        log = self.store.get(PARTITION)
        assert log is not None
        return log

    def note(self, flushed: int | None = None) -> None:
        batches = batches_of(stored(self.log))
        last = self.moments[-1]
        # Batches that retention took are still the truth about their offsets.
        whole = {o: b for o, b in last.batches.items() if o < min(batches, default=self.log.log_end_offset)} | batches
        self.producers[history(whole)] = known_producers(self.log)
        self.moments.append(
            Moment(
                len(self.files.journal),
                whole,
                self.log.log_start_offset,
                last.flushed if flushed is None else flushed,
            )
        )

    def append(self, count: int) -> None:
        for n in range(count):
            data = bytearray(plain(b"%d" % self.sequence, count=n % 2 + 1, timestamp=NOW + self.sequence))
            self.log.append_as_leader(data, self.epoch, NOW)
            self.note()
            self.idempotent()

    def idempotent(self) -> None:
        record = Record(None, b"p", NOW + self.sequence)
        data = batch(record, producer=(5, 0), sequence=self.sequence, attributes=TRANSACTIONAL)
        self.log.append_as_leader(bytearray(data), self.epoch, NOW)
        self.sequence += 1
        self.note()
        if self.sequence % 3 == 0:
            kind = MarkerType.ABORT if self.sequence % 2 else MarkerType.COMMIT
            marker = encode_marker(EndTransactionMarker(kind, 1), producer_id=5, producer_epoch=0, timestamp=NOW)
            self.log.append_as_leader(marker, self.epoch, NOW, from_coordinator=True)
            self.note()

    def flush(self) -> None:
        flush_now(self.log, NOW)
        self.note(self.log.recovery_point)

    def checkpoint(self) -> None:
        for job in (*self.store.recovery_point_jobs(), *self.store.start_offset_jobs()):
            job.run(self.files)
        self.note()

    def truncate(self, batches: int) -> None:
        """Take off the last batches."""
        offset = sorted(self.moments[-1].batches)[-batches]
        self.moments.append(replace(self.moments[-1], flushed=min(self.moments[-1].flushed, offset)))
        self.store.truncate(self.log, offset, NOW)
        entry = self.log.producers.entries.get(5)
        self.sequence = 0 if entry is None else entry.last_sequence + 1
        self.epoch += 1
        self.note()

    def retain(self, keep: int) -> None:
        self.log.update_high_watermark(self.log.log_end_offset)
        self.log.config = replace(CONFIG, retention_bytes=keep)
        self.store.apply_retention(NOW)
        self.note()
        for removal in self.store.trash.take_due(NOW + 10**9):
            removal.run(self.files)
        self.log.config = CONFIG

    def swap(self) -> None:
        """What a cleaner does that finds nothing to clean: two segments become one."""
        old = [self.log.segments[0], self.log.segments[1]]
        cleaned = Segment(
            self.files,
            OpenSegments(2),
            self.log.directory,
            old[0].base_offset,
            sizes={},
            modified_ms=NOW,
            suffix=CLEANED,
        )
        cleaned.create(CONFIG)
        for segment in old:
            for found in scan_batches(self.files, segment.open_file().fd, segment.size):
                header = found.header
                cleaned.append(found.view, header.last_offset, header.max_timestamp, header.last_offset, 200)
            for aborted in segment.txn_index.entries():
                cleaned.txn_index.append(aborted)
        cleaned.become_inactive()
        cleaned.close_files()
        sizes = {s: size for s in SEGMENT_SUFFIXES if (size := self.files.size(cleaned.path(s))) is not None}
        for suffix in sizes:
            self.files.sync_file(cleaned.path(suffix))
        assert can_swap(self.log, old, self.log.truncations)
        log = self.log
        new = Segment(log.files, log.open_segments, log.directory, old[0].base_offset, sizes=sizes, modified_ms=NOW,
                      suffix=CLEANED)  # fmt: skip
        swap_segments(log, new, old, NOW)
        self.note()

    def restart(self) -> None:
        self.store.close(NOW)
        end = self.log.log_end_offset
        self.start()
        self.note(end)


def batches_of(data: bytes) -> Batches:
    return {header.base_offset: data[at : at + header.size] for at, header in whole_batches(data)}


def history(batches: Batches) -> bytes:
    return b"".join(batches[offset] for offset in sorted(batches))


def known_producers(log: Log) -> object:
    return {
        pid: (e.producer_epoch, e.last_sequence, e.last_offset, e.txn_first_offset, e.coordinator_epoch)
        for pid, e in log.producers.entries.items()
    }


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Workload:
    work = Workload(tmp_path_factory.mktemp("work") / "data")
    work.start()
    work.store.create(PARTITION, NOW)
    work.append(5)
    work.flush()
    work.checkpoint()
    work.append(5)
    work.truncate(2)
    work.append(2)
    work.flush()
    work.checkpoint()
    work.truncate(6)
    work.append(4)
    work.flush()
    work.swap()
    work.append(1)
    work.retain(1000)
    work.append(2)
    work.checkpoint()
    work.restart()
    work.append(2)
    return work


def test_the_workload_does_what_it_is_for(workload: Workload) -> None:
    kinds = {change.kind for change in workload.files.journal}
    assert kinds == {"create", "write", "resize", "sync", "rename", "unlink", "mkdir", "sync_dir"}
    assert len(workload.log.segments) >= 3
    assert workload.log.log_start_offset > 0
    assert any(segment.txn_index.entries() for segment in workload.log.segments)


def open_again(root: Path) -> Log | None:
    store = LogStore(Files(), [str(root)], lambda _: CONFIG, lambda _, error: pytest.fail(str(error)))
    store.load(NOW)
    log = store.get(PARTITION)
    if log is not None:
        log.close_files()
    return log


def all_states(workload: Workload) -> Iterator[tuple[int, Disk]]:
    seen = set()
    for length in range(len(workload.files.journal) + 1):
        for disk in crash_states(workload.files.journal[:length]):
            key = hash(disk.key())
            if key not in seen:
                seen.add(key)
                yield length, disk


@pytest.mark.timeout(600)
def test_after_a_crash_at_any_moment_the_log_is_a_true_beginning_with_everything_flushed(
    workload: Workload, tmp_path: Path
) -> None:
    number = 0
    for number, (length, disk) in enumerate(all_states(workload)):
        root = tmp_path / str(number)
        root.mkdir()
        disk.write_to(root, str(workload.root))
        check(workload, length, root)
    assert number > 1000


def check(workload: Workload, length: int, root: Path) -> None:
    before = max(n for n, moment in enumerate(workload.moments) if moment.journal <= length)
    flushed, start = (
        workload.moments[before].flushed,
        workload.moments[min(before + 1, len(workload.moments) - 1)].start,
    )
    was_clean = (root / ".kafka_cleanshutdown").exists()
    log = open_again(root)
    if log is None:
        assert flushed == 0
        return
    found = batches_of(stored(log))
    assert log.log_end_offset >= flushed
    assert log.log_start_offset <= start
    assert is_true(workload, before, log, found)
    check_indexes(log)
    if was_clean:
        open_again(root)
    after = content_of(root)
    open_again(root)
    assert content_of(root) == after, "a second recovery changes nothing"


def is_true(workload: Workload, before: int, log: Log, found: Batches) -> bool:
    """Whether the log was once as it is found now, up to its end."""
    for moment in workload.moments[: before + 2]:
        expected = {o: b for o, b in moment.batches.items() if o < log.log_end_offset}
        first = min(found, default=log.log_end_offset)
        if {o: b for o, b in expected.items() if o >= first} == found:
            known = workload.producers.get(history(expected))
            return known is None or known == known_producers(log)
    return False


def check_indexes(log: Log) -> None:
    if log.log_end_offset > log.log_start_offset:
        assert batches_of(read_from(log, log.log_start_offset)).keys() <= batches_of(stored(log)).keys()
    for segment in log.segments:
        places = dict(segment.headers())
        newest = -1
        for offset, position in segment.offset_index.entries():
            assert places[position].base_offset <= segment.base_offset + offset <= places[position].last_offset
        for timestamp, relative in segment.time_index.entries():
            upto = [h.max_timestamp for h in places.values() if h.last_offset <= segment.base_offset + relative]
            assert max(upto) == timestamp > newest
            newest = timestamp
        segment.close_files()


def content_of(root: Path) -> dict[str, bytes]:
    return {str(f.relative_to(root)): f.read_bytes() for f in root.rglob("*") if f.is_file()}
