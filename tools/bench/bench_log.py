"""Figures of the log library alone: append, read by sendfile, recovery, opening many partitions.

    python tools/bench/bench_log.py [--dir DIR] [--quick] [NAME ...]

CPU time is user + system of this process. Fresh page-cache memory costs several times what just-freed memory costs, so
every measurement first writes and deletes as much as it is going to write.
"""

import argparse
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tidelog.broker.log.config import LogConfig
from tidelog.broker.log.files import Files
from tidelog.broker.log.loading import LoadRequest, LoadTools, load_log
from tidelog.broker.log.log import Log
from tidelog.broker.log.log_store import LogStore
from tidelog.broker.log.open_segments import OpenSegments
from tidelog.broker.log.reading import Isolation, fetch
from tidelog.broker.log.trash import Trash
from tidelog.kafka.records.header import whole_batches
from tidelog.kafka.records.record import Record, encode_batch
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition

GB = 10**9
PARTITION = TopicPartition(TopicName("bench"), PartitionIndex(0))


@dataclass
class Bench:
    """Where to write, and how much."""

    root: Path
    total: int

    def log(self, name: str, config: LogConfig | None = None, **fields: bool | int) -> Log:
        path = self.root / name
        path.mkdir(exist_ok=True)
        request = LoadRequest(PARTITION, str(path), config or LogConfig(), now_ms(), **fields)  # type: ignore[arg-type]
        return load_log(request, LoadTools(Files(), OpenSegments(), Trash(), lambda error: print("failed:", error)))

    def warm(self, size: int) -> None:
        """Write and delete: the memory of the page cache is then the process's own again."""
        path, block = self.root / "warm", bytes(1024 * 1024)
        with path.open("wb") as file:
            for _ in range(-(-size // len(block))):
                file.write(block)
        path.unlink()


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def cpu() -> tuple[float, float]:
    times = os.times()
    return times.user, times.system


def measure(work: Callable[[], object]) -> tuple[float, float, float]:
    """User, system and wall seconds."""
    (user, system), wall = cpu(), time.perf_counter()
    work()
    (user2, system2), wall2 = cpu(), time.perf_counter()
    return user2 - user, system2 - system, wall2 - wall


def report(name: str, size: int, count: int, times: tuple[float, float, float]) -> None:
    user, system, wall = times
    print(
        f"{name:<44} {(user + system) / size * GB:7.3f} CPU s/GB (user {user / size * GB:6.3f})"
        f" {(user + system) / count * 1e6:9.2f} us each {size / wall / 1e6:9.0f} MB/s wall",
        flush=True,
    )


def batch_of(record_size: int, size: int) -> bytes:
    value = os.urandom(record_size)
    return bytes(encode_batch([Record(None, value, now_ms())] * max(1, size // record_size)))


def append(bench: Bench) -> None:
    shapes = [("1 KiB records, 16 KiB batches", 1024, 15 * 1024), ("1 KiB records, 1 MiB batches", 1024, 1000 * 1024)]
    shapes += [("100 B records, 16 KiB batches", 100, 15 * 1024), ("100 B, one record a batch", 100, 1)]
    for name, record_size, size in shapes:
        data = batch_of(record_size, size)
        count = min(bench.total // len(data), 300_000)
        bench.warm(count * len(data))
        log = bench.log("append")
        buffer = bytearray(data)

        def work(log: Log = log, data: bytes = data, buffer: bytearray = buffer, count: int = count) -> None:
            now, head = now_ms(), data[:16]
            for _ in range(count):
                # What appending changed is put right again, as if the listener had received another batch.
                buffer[:16] = head
                log.append_as_leader(buffer, 0, now)

        report(f"append, {name}", count * len(data), count, measure(work))
        log.close_files()
        shutil.rmtree(bench.root / "append")


def read(bench: Bench) -> None:
    """A consumer that follows: each fetch goes on where the last one ended; the ranges go to a socket by sendfile."""
    log = filled(bench, "read", batch_of(1024, 15 * 1024))
    log.update_high_watermark(log.log_end_offset)
    left, right = socket.socketpair()
    drain = threading.Thread(target=_drain, args=(right,))
    drain.start()
    count = 0

    def work() -> None:
        nonlocal count
        offset = 0
        while offset < log.log_end_offset:
            records = fetch(log, offset, 1024 * 1024, Isolation.HIGH_WATERMARK).records
            assert records is not None
            position, end = records.position, records.position + records.size
            while position < end:
                position += os.sendfile(left.fileno(), records.fd, position, end - position)
            offset = _next_offset(records.read(), offset)
            count += 1

    times = measure(work)
    left.close()
    drain.join()
    report("read by sendfile (reader in a thread), 1 MiB", log.size, count, times)

    def plan() -> None:
        for offset in range(0, log.log_end_offset, 16):
            fetch(log, offset, 1024 * 1024, Isolation.HIGH_WATERMARK)

    fetches = len(range(0, log.log_end_offset, 16))
    user, system, _ = measure(plan)
    print(f"{'fetch at random batches, no data sent':<44} {(user + system) / fetches * 1e6:7.2f} us each", flush=True)
    end = log.log_end_offset

    def poll() -> None:
        for _ in range(100_000):
            fetch(log, end, 1024 * 1024, Isolation.HIGH_WATERMARK)

    user, system, _ = measure(poll)
    print(f"{'fetch at the end, nothing new':<44} {(user + system) / 100_000 * 1e6:7.2f} us each", flush=True)
    log.close_files()
    shutil.rmtree(bench.root / "read")


def _next_offset(data: bytes, offset: int) -> int:
    """After the last whole batch; a range may end within one, which the next fetch begins with."""
    return max((header.next_offset for _, header in whole_batches(data)), default=offset)


def _drain(connection: socket.socket) -> None:
    buffer = bytearray(1024 * 1024)
    while connection.recv_into(buffer):
        pass


def filled(bench: Bench, name: str, data: bytes, config: LogConfig | None = None) -> Log:
    log = bench.log(name, config)
    buffer, now = bytearray(data), now_ms()
    for _ in range(bench.total // len(data)):
        buffer[:] = data
        log.append_as_leader(buffer, 0, now)
    return log


def recovery(bench: Bench) -> None:
    for name, record_size, size in (("16 KiB batches", 1024, 15 * 1024), ("1 KiB batches", 900, 900)):
        log = filled(bench, "recovery", batch_of(record_size, size))
        total = log.size
        log.close_files()
        times = measure(lambda: bench.log("recovery").close_files())
        report(f"recovery scan, {name}", total, 1, times)
        shutil.rmtree(bench.root / "recovery")


def many(bench: Bench) -> None:
    """1000 partitions of 3 segments, opened after a clean stop and after a crash."""
    config = LogConfig(segment_bytes=64 * 1024)
    data = bytearray(batch_of(1000, 30_000))
    head, directory = bytes(data[:16]), str(bench.root / "many")

    def start() -> LogStore:
        store = LogStore(Files(), [directory], lambda _: config, print)
        store.load(now_ms())
        return store

    store = start()
    for number in range(1000):
        log = store.create(TopicPartition(TopicName("many"), PartitionIndex(number)), now_ms())
        for _ in range(5):
            data[:16] = head
            log.append_as_leader(data, 0, now_ms())
        log.close_files()
    wall = time.perf_counter()
    store.close(now_ms())
    print(f"{'clean stop, 1000 partitions x 3 segments':<44} {time.perf_counter() - wall:7.2f} s wall", flush=True)
    for name in ("a clean stop", "a crash"):
        before = _rss_kb()
        user, system, wall = measure(start)
        grown = (_rss_kb() - before) // 1024
        print(
            f"{'open after ' + name:<44} {wall:7.2f} s wall, {user + system:.2f} s CPU, RSS {grown:+d} MiB", flush=True
        )
    shutil.rmtree(directory)


def _rss_kb() -> int:
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))


BENCHES = {"append": append, "read": read, "recovery": recovery, "many": many}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*BENCHES, []], help="which; all by default")
    parser.add_argument("--dir", help="where to write (default: a temporary directory)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the data")
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="bench-log", dir=options.dir))
    try:
        for name in options.names or BENCHES:
            BENCHES[name](Bench(root, GB // 10 if options.quick else GB))
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
