"""Random operations on a log, compared with a plain list of batches."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.support.batches import batch
from tests.support.logs import NOW, SMALL, LogOnDisk, stored
from tidelog.broker.log.flush import flush_now
from tidelog.broker.log.open_segments import OpenSegments
from tidelog.broker.log.reading import Isolation, fetch, find_by_timestamp
from tidelog.broker.log.retention import advance_start, delete_old_segments
from tidelog.broker.log.truncation import truncate_fully, truncate_to
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.header import BatchHeader, read_header
from tidelog.kafka.records.record import Record, read_records


class LogMachine(RuleBasedStateMachine):
    """The model: the stored batches in order, the offsets, and nothing else."""

    @initialize()
    def start(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="log-model"))
        self.disk = LogOnDisk(self.root / "t-0", open_segments=OpenSegments(3))
        self.log = self.disk.open()
        self.batches: list[bytes] = []
        self.begin = self.end = self.high_watermark = self.epoch = 0
        self.last_time = NOW

    def teardown(self) -> None:
        self.log.close_files()
        shutil.rmtree(self.root)

    def headers(self) -> list[BatchHeader]:
        return [read_header(data) for data in self.batches]

    @rule(
        sizes=st.lists(st.integers(0, 120), min_size=1, max_size=4),
        step=st.integers(-50, 100),
        codec=st.sampled_from([Codec.NONE, Codec.NONE, Codec.LZ4]),
        repeat=st.integers(1, 6),
    )
    def append(self, sizes: list[int], step: int, codec: Codec, repeat: int) -> None:
        for _ in range(repeat):
            self.last_time += step
            data = bytearray(batch(*[Record(b"k", b"v" * s, self.last_time + s) for s in sizes], codec=codec))
            appended = self.log.append_as_leader(data, self.epoch, NOW)
            assert appended[:2] == (self.end, self.end + len(sizes) - 1)
            self.batches.append(bytes(data))
            self.end += len(sizes)

    @rule(data=st.binary(max_size=90))
    def refuse_garbage(self, data: bytes) -> None:
        try:
            self.log.append_as_leader(bytearray(data), self.epoch, NOW)
        except KafkaError as error:
            assert error.code in (KafkaCode.CORRUPT_MESSAGE, KafkaCode.INVALID_RECORD)  # noqa: PT017
        else:
            raise AssertionError("garbage was taken")

    @rule(advance=st.integers(0, 10))
    def advance_high_watermark(self, advance: int) -> None:
        ends = [h.next_offset for h in self.headers() if h.next_offset >= self.high_watermark]
        if ends:
            self.high_watermark = ends[min(advance, len(ends) - 1)]
            self.log.update_high_watermark(self.high_watermark)

    @rule()
    def new_leader(self) -> None:
        self.epoch += 1
        self.log.assign_epoch(self.epoch)

    @rule()
    def roll(self) -> None:
        if self.log.segments.active.size:
            self.log.roll(NOW)

    @rule()
    def flush(self) -> None:
        flush_now(self.log, NOW)
        assert self.log.recovery_point == self.end

    @rule(back=st.integers(0, 12))
    def truncate(self, back: int) -> None:
        offset = max(self.end - back, self.high_watermark, self.begin)
        truncate_to(self.log, offset, NOW, lambda: None)
        self.batches = [data for data in self.batches if read_header(data).last_offset < offset]
        held = self.headers()
        self.end = max(held[-1].next_offset if held else self.begin, self.begin) if offset < self.end else self.end
        self.high_watermark = min(self.high_watermark, self.end)
        self.epoch += 1

    @rule(by=st.integers(0, 15))
    def delete_records(self, by: int) -> None:
        self.begin = min(self.begin + by, self.high_watermark)
        advance_start(self.log, self.begin)

    @rule()
    def retain(self) -> None:
        delete_old_segments(self.log, NOW)
        first = self.log.segments.first.base_offset
        self.batches = [data for data in self.batches if read_header(data).base_offset >= first]

    @rule(clean=st.booleans())
    def restart(self, clean: bool) -> None:
        recovery_point = self.end if clean else self.log.recovery_point
        if clean:
            self.log.close()
        else:
            self.log.close_files()
        self.log = self.disk.open(
            was_clean=clean,
            recovery_point=recovery_point,
            log_start_offset=self.begin,
            high_watermark=self.high_watermark,
        )

    @rule(offset=st.integers(0, 5))
    def start_again(self, offset: int) -> None:
        offset += self.end
        truncate_fully(self.log, offset, NOW, lambda: None)
        self.batches = []
        self.begin = self.end = self.high_watermark = offset

    @rule(at=st.floats(0, 1), max_bytes=st.integers(0, 2000), isolation=st.sampled_from(Isolation))
    def read(self, at: float, max_bytes: int, isolation: Isolation) -> None:
        offset = self.begin + round(at * (self.end - self.begin))
        limit = self.end if isolation is Isolation.LOG_END else self.high_watermark
        wanted = [
            d for d in self.batches if read_header(d).last_offset >= offset and read_header(d).base_offset < limit
        ]
        fetched = fetch(self.log, offset, max_bytes, isolation)
        got = fetched.records.read() if fetched.records else b""
        assert b"".join(wanted).startswith(got)
        if wanted and offset < limit:
            assert got.startswith(wanted[0])
            assert len(got) <= max(max_bytes, len(wanted[0]))
        else:
            assert got == b""

    @rule(step=st.integers(-100, 300))
    def search(self, step: int) -> None:
        wanted = self.last_time - step
        records = (r for d in self.batches for r in read_records(d) if r.offset >= self.begin and r.timestamp >= wanted)
        first = next(records, None)
        found = find_by_timestamp(self.log, wanted)
        assert (found and found[:2]) == (first and (first.offset, first.timestamp))

    @invariant()
    def same(self) -> None:
        log = self.log
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (
            self.begin,
            self.high_watermark,
            self.end,
        )
        assert stored(log) == b"".join(self.batches)
        assert len(self.disk.open_segments) <= 3
        assert self.disk.config == SMALL
        assert not self.disk.errors


LogMachine.TestCase.settings = settings(max_examples=80, stateful_step_count=50, deadline=None)
TestLogAgainstAList = LogMachine.TestCase
