"""Compaction while an event loop goes on appending: how fast it is, and how long an append ever waits for it.

    python tools/bench/bench_compaction.py [--dir DIR] [--records N] [--keys N] [--load APPENDS_PER_SECOND]

The log has records of about 107 bytes, so that ten million are 1 GiB; the map gets the memory that their keys need. The
loop appends a batch of 16 KiB to another log all the while. It tells how late the loop came to an append, for which the
interpreter is to blame, how long the append itself took, for which it may be the disk, and both together; and these once
more without the time for which threads of this process were ready to run and the kernel gave the processor to others. The
same is measured before without a cleaner: on a machine that does something else beside, that is what to compare with.
"""

import argparse
import asyncio
import gc
import random
import resource
import shutil
import tempfile
import time
from pathlib import Path

import uvloop
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from tidelog.broker.log.cleaner.cleaner import Cleaner, CleanerLimits
from tidelog.broker.log.cleaner.running import CleanerThreads
from tidelog.broker.log.config import LogConfig
from tidelog.broker.log.files import Files
from tidelog.broker.log.flush import flush_now
from tidelog.broker.log.log import Log
from tidelog.broker.log.log_store import LogStore
from tidelog.kafka.records.produced import ProduceRules
from tidelog.kafka.records.record import Record, encode_batch
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition

RECORDS_IN_BATCH = 150
VALUE = random.Random(1).randbytes(84)
COMPACTED = LogConfig(compact=True, delete=False, rules=ProduceRules())
PLAIN = LogConfig()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def fill(log: Log, records: int, keys: int) -> None:
    """Every key at least once, and then keys at random."""
    choose = random.Random(2)
    stamp = now_ms()
    for start in range(0, records, RECORDS_IN_BATCH):
        builder = DefaultRecordBatchBuilder(2, 0, 0, -1, -1, -1, 1 << 20)
        for delta in range(min(RECORDS_IN_BATCH, records - start)):
            number = start + delta if start + delta < keys else choose.randrange(keys)
            builder.append(delta, stamp, b"key-%010d" % number, VALUE, [])
        log.append_as_leader(bytearray(builder.build()), 0, stamp)
    log.roll(now_ms())
    flush_now(log, now_ms())
    log.update_high_watermark(log.log_end_offset)


def processor_waits_s() -> float:
    """For how long all threads of the process together were ready to run and did not: others had the processor."""
    waited_ns = 0
    for task in Path("/proc/self/task").iterdir():
        try:
            waited_ns += int((task / "schedstat").read_text().split()[1])
        except FileNotFoundError:
            continue
    return waited_ns / 1e9


class Appends:
    """An append at fixed times; how late each began, how long it took, and what of both the processor was missing."""

    def __init__(self, log: Log, per_second: float) -> None:
        self._log = log
        self._interval = 1 / per_second
        self._batch = bytes(encode_batch([Record(b"k", bytes(1000), now_ms())] * 16))
        self.late: list[float] = []
        self.took: list[float] = []
        self.without_processor: list[float] = []

    async def run(self) -> None:
        due = time.perf_counter()
        waits = processor_waits_s()
        while True:
            due += self._interval
            await asyncio.sleep(max(due - time.perf_counter(), 0))
            began = time.perf_counter()
            self._log.append_as_leader(bytearray(self._batch), 0, now_ms())
            ended = time.perf_counter()
            self.late.append(began - due)
            self.took.append(ended - began)
            before, waits = waits, processor_waits_s()
            self.without_processor.append(waits - before)
            due = max(due, ended - self._interval)

    def report(self, name: str) -> None:
        both = [late + took for late, took in zip(self.late, self.took, strict=True)]
        print(f"{name}: {len(both)} appends, ms at 50 %, 99 %, 99.9 % and the longest")
        rest = [max(wait - missing, 0.0) for wait, missing in zip(both, self.without_processor, strict=True)]
        shown = {"the loop was late": self.late, "the append took": self.took, "both": both, "with a processor": rest}
        for what, times in shown.items():
            times = sorted(times)
            shares = (times[int((len(times) - 1) * share)] * 1000 for share in (0.5, 0.99, 0.999, 1.0))
            print(f"  {what:20}" + "".join(f"{ms:10.2f}" for ms in shares))
        self.late.clear()
        self.took.clear()
        self.without_processor.clear()


async def measure(store: LogStore, arguments: argparse.Namespace) -> None:
    load = store.create(TopicPartition(TopicName("load"), PartitionIndex(0)), now_ms())
    dirty = store.get(TopicPartition(TopicName("dirty"), PartitionIndex(0)))
    assert dirty is not None
    appends = Appends(load, arguments.load)
    task = asyncio.create_task(appends.run())
    await asyncio.sleep(arguments.baseline)
    appends.report("without a cleaner")
    limits = CleanerLimits(dedupe_buffer_size=int(arguments.keys / 0.9 + 1000) * 24, backoff_ms=100)
    cleaner = Cleaner(store)
    size, began, cpu = dirty.size, time.perf_counter(), time.process_time()
    running = asyncio.create_task(CleanerThreads(cleaner, store, Files(), limits, now_ms).run())
    while not cleaner.counts.cleanings and not cleaner.uncleanable:  # noqa: ASYNC110 - it has no event to wait for
        await asyncio.sleep(0.1)
    took, used = time.perf_counter() - began, time.process_time() - cpu
    appends.report("while it compacts")
    running.cancel()
    task.cancel()
    await asyncio.gather(task, running, return_exceptions=True)
    counts = cleaner.counts
    assert not cleaner.uncleanable, cleaner.uncleanable
    print(
        f"compacted {size / 2**20:.0f} MiB, {counts.records_read} records, to {dirty.size / 2**20:.0f} MiB,"
        f" {counts.records_kept} records, in {took:.1f} s ({used:.1f} s CPU with the appends),"
        f" map {counts.map_utilization_max:.0%} of {limits.dedupe_buffer_size / 2**20:.0f} MiB,"
        f" peak RSS {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=Path, help="where to write; by default the directory for temporary files")
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=None, help="by default as many as records")
    parser.add_argument("--load", type=float, default=200.0, help="appends a second")
    parser.add_argument("--baseline", type=float, default=5.0, help="seconds without a cleaner")
    arguments = parser.parse_args()
    arguments.keys = arguments.keys or arguments.records
    root = Path(tempfile.mkdtemp(dir=arguments.dir))
    try:
        configs = {"dirty": COMPACTED, "load": PLAIN}
        store = LogStore(Files(), [str(root)], lambda topic: configs[topic], lambda _, error: print("failed:", error))
        store.load(now_ms())
        log = store.create(TopicPartition(TopicName("dirty"), PartitionIndex(0)), now_ms())
        began = time.perf_counter()
        fill(log, arguments.records, arguments.keys)
        print(f"wrote {log.size / 2**20:.0f} MiB in {len(log.segments)} segments, {time.perf_counter() - began:.0f} s")
        gc.collect()
        gc.freeze()
        uvloop.run(measure(store, arguments))
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
