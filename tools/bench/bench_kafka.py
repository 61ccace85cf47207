"""The same client work against Apache Kafka and Tidelog in one run, as one table of figures and ratios.

    python -m tools.bench.bench_kafka [--seconds 3] [--warm-up 5] [--rounds 1] [--brokers 3] [--jars FOLDER]

The client is librdkafka on the same machine, so that both systems share the cores with it, and in the cases of many small
records it is the client that sets the pace. What tells more than time is the CPU that the servers spend, all of their
processes together. Two gigabytes are written and deleted before each produce case: on virtual machines a page that has
been free for some time costs several times as much as one that was just freed, and one system would pay for the other.
Each system does all cases once before they are measured, because a JVM needs that to compile what is hot. With several
rounds the systems take turns, and the median counts.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import confluent_kafka
import confluent_kafka.admin
import psutil

from tools.bench.group_cases import commit_latencies, join_seconds
from tools.bench.kafka_peer import KafkaPeer, fetch_jars
from tools.bench.tidelog_peer import TidelogPeer

KAFKA_PORTS, TIDELOG_PORTS = 22_000, 22_100
PARTITIONS = 6
GROUP_PARTITIONS = 20
TOUCHED_BYTES = 2_000_000_000
CASE_BYTES_MAX = 2_000_000_000
GIVE_UP_S = 180.0
SETTLE_S = 5.0  # until start-up is over for caches and collectors, and memory is "idle"
WARM_S = 1.0

confluent_admin: Any = confluent_kafka.admin  # its stubs do not tell what it exports


class Peer(Protocol):
    @property
    def label(self) -> str: ...
    @property
    def bootstrap(self) -> str: ...
    def up(self) -> None: ...
    def pids(self) -> dict[str, int]: ...
    def down(self) -> None: ...


@dataclass(frozen=True)
class Measure:
    """One line of the table. `must` is the ratio to Kafka, or the megabytes, that Tidelog is held to."""

    name: str
    unit: str
    must: str


MEASURES = {
    "produce": Measure("produce acks=1, 1 KiB, default batching", "MB/s", ">= 1.0 x"),
    "produce cpu": Measure("  server CPU", "s/GB", "<= 0.6 x"),
    "produce 1MB": Measure("produce acks=1, 1 KiB, 1 MB batches", "MB/s", ">= 1.0 x"),
    "produce 1MB cpu": Measure("  server CPU", "s/GB", "<= 0.6 x"),
    "consume 1KiB": Measure("consume, 1 KiB", "MB/s", ">= 1.0 x"),
    "consume 1KiB cpu": Measure("  server CPU", "s/GB", "<= 0.8 x"),
    "consume 100B": Measure("consume, 100 B", "1000 records/s", ">= 1.0 x"),
    "consume 100B cpu": Measure("  server CPU", "s/GB", "<= 0.8 x"),
    "small": Measure("one record per request, acks=1, 5 in flight", "1/s", ">= 1.5 x"),
    "small cpu": Measure("  server CPU", "ms each", "<= 0.6 x"),
    "small p99": Measure("  p99", "ms", ""),
    "join": Measure("group of 10 joins", "s", "<= 0.8 x"),
    "commit": Measure("sync commits of one consumer", "1/s", ">= 1.2 x"),
    "commit p99": Measure("  p99", "ms", ""),
    "start": Measure("start of all brokers to the first produce", "s", "<= 0.7 x"),
    "rss idle": Measure("RSS of the largest broker, idle", "MB", "80 MB"),
    "rss after": Measure("RSS of the largest broker, after the run", "MB", "200 MB"),
}


@dataclass
class Figures:
    """What the rounds of one system brought, by measure."""

    values: dict[str, list[float]] = field(default_factory=dict)
    is_warming_up: bool = False

    def add(self, name: str, value: float) -> None:
        assert name in MEASURES, name
        if self.is_warming_up:
            return
        self.values.setdefault(name, []).append(value)
        print(f"  {MEASURES[name].name.strip()}: {value:.3g} {MEASURES[name].unit}", flush=True)

    def median(self, name: str) -> float:
        return statistics.median(self.values[name])


class Meter:
    """CPU seconds of the servers, and of everybody else but this client, since it was made."""

    def __init__(self, pids: dict[str, int]) -> None:
        self._processes = [psutil.Process(pid) for pid in pids.values()]
        self._begun = (time.perf_counter(), self._servers(), self._others())

    def read(self) -> tuple[float, float]:
        """Seconds, and CPU seconds of the servers."""
        return time.perf_counter() - self._begun[0], self._servers() - self._begun[1]

    def cores_of_others(self) -> float:
        """How many cores somebody else used meanwhile, which spoils the figures."""
        seconds, servers = self.read()
        return max(0.0, (self._others() - self._begun[2] - servers) / seconds)

    def _servers(self) -> float:
        return sum(sum(process.cpu_times()[:2]) for process in self._processes)

    def _others(self) -> float:
        busy = psutil.cpu_times()
        return busy.user + busy.system + busy.nice - time.process_time()


class Runner:
    """All cases against one system that is up."""

    def __init__(self, peer: Peer, brokers: int, seconds: float, figures: Figures) -> None:
        self._peer = peer
        self._brokers = brokers
        self._seconds = seconds
        self._figures = figures
        self._pids: dict[str, int] = {}
        self._admin = confluent_admin.AdminClient(self._config())
        self._topics = 0
        self.cores_of_others: list[float] = []

    def start(self) -> None:
        begun = time.perf_counter()
        self._peer.up()
        self._until(lambda: len(self._admin.list_topics(timeout=1).brokers) == self._brokers)
        with self._topic(1) as topic:
            producer = confluent_kafka.Producer(self._config(acks="all"))
            delivered: list[Any] = []
            producer.produce(topic, b"first", on_delivery=lambda error, _: delivered.append(error))
            producer.flush(GIVE_UP_S)
            assert delivered == [None], delivered
            self._figures.add("start", time.perf_counter() - begun)
        self._pids = self._peer.pids()
        time.sleep(SETTLE_S)
        self._figures.add("rss idle", self._largest_broker())

    def warm_up(self, seconds: float) -> None:
        measured, self._seconds = self._seconds, seconds
        self._figures.is_warming_up = True
        self.run()
        self._figures.is_warming_up = False
        self._seconds = measured
        self.cores_of_others.clear()

    def run(self) -> None:
        self._produce_and_consume("produce", 1024, {}, "consume 1KiB")
        self._produce_and_consume("produce 1MB", 1024, {"batch.size": 1_000_000, "linger.ms": 50}, None)
        self._produce_and_consume(None, 100, {}, "consume 100B")
        self._small()
        self._groups()
        self._figures.add("rss after", self._largest_broker())

    def _produce_and_consume(
        self, produce: str | None, size: int, batching: dict[str, Any], consume: str | None
    ) -> None:
        with self._topic(PARTITIONS) as topic:
            _touch_memory()
            failed: list[Any] = []
            producer = confluent_kafka.Producer(self._config(acks=1) | batching | {"delivery.report.only.error": True})
            sent = self._pump(producer, topic, size, WARM_S, failed)
            meter = Meter(self._pids)
            measured = self._pump(producer, topic, size, self._seconds, failed)
            seconds, cpu = meter.read()
            self.cores_of_others.append(meter.cores_of_others())
            assert not failed, failed[0]
            if produce is not None:
                self._figures.add(produce, measured * size / 1e6 / seconds)
                self._figures.add(f"{produce} cpu", cpu / (measured * size / 1e9))
            if consume is not None:
                self._consume(consume, topic, sent + measured, size)

    def _pump(
        self, producer: confluent_kafka.Producer, topic: str, size: int, seconds: float, failed: list[Any]
    ) -> int:
        """As fast as the client can for so long, and until all is acknowledged; gives how many records."""
        values = _payloads(size)
        end, sent, most = time.perf_counter() + seconds, 0, CASE_BYTES_MAX // size

        def delivered(error: Any, _: Any) -> None:
            failed.append(error)

        while time.perf_counter() < end and sent < most:
            for value in values:
                try:
                    producer.produce(topic, value, partition=sent // 1000 % PARTITIONS, on_delivery=delivered)
                    sent += 1
                except BufferError:
                    producer.poll(0.01)
            producer.poll(0)
        assert producer.flush(GIVE_UP_S) == 0, "not everything was delivered"
        return sent

    def _consume(self, name: str, topic: str, count: int, size: int) -> None:
        # A full queue would stop the client from fetching for a second, and that would measure the client.
        consumer = confluent_kafka.Consumer(
            self._config() | {"group.id": "bench", "enable.auto.commit": False, "fetch.queue.backoff.ms": 2}
        )
        meter = Meter(self._pids)
        consumer.assign([confluent_kafka.TopicPartition(topic, index, 0) for index in range(PARTITIONS)])
        got = 0
        while got < count:
            messages = consumer.consume(min(5000, count - got), 30)
            assert messages, f"{count - got} records are missing"
            got += len(messages)
        seconds, cpu = meter.read()
        self.cores_of_others.append(meter.cores_of_others())
        consumer.close()
        in_records = MEASURES[name].unit == "1000 records/s"
        self._figures.add(name, got / 1000 / seconds if in_records else got * size / 1e6 / seconds)
        self._figures.add(f"{name} cpu", cpu / (got * size / 1e9))

    def _small(self) -> None:
        """A closed loop of five records, each a request of its own."""
        with self._topic(1) as topic:
            one_each = {"linger.ms": 0, "batch.num.messages": 1, "max.in.flight": 5}
            producer = confluent_kafka.Producer(self._config(acks=1) | one_each)
            for seconds in (WARM_S, self._seconds):
                latencies: list[float] = []
                meter = Meter(self._pids)
                _closed_loop(producer, topic, seconds, latencies)
                took, cpu = meter.read()
                self.cores_of_others.append(meter.cores_of_others())
            latencies.sort()
            self._figures.add("small", len(latencies) / took)
            self._figures.add("small cpu", cpu * 1000 / len(latencies))
            self._figures.add("small p99", latencies[len(latencies) * 99 // 100] * 1000)

    def _groups(self) -> None:
        with self._topic(GROUP_PARTITIONS) as topic:
            self._figures.add("join", join_seconds(self._config(), topic, GROUP_PARTITIONS, 10))
            latencies = sorted(commit_latencies(self._config(), topic, self._seconds))
            self._figures.add("commit", len(latencies) / sum(latencies))
            self._figures.add("commit p99", latencies[len(latencies) * 99 // 100] * 1000)

    def _config(self, **more: Any) -> dict[str, Any]:
        common = {"bootstrap.servers": self._peer.bootstrap, "broker.address.family": "v4", "log_level": 2}
        return {**common, **{key.replace("_", "."): value for key, value in more.items()}}

    @contextmanager
    def _topic(self, partitions: int) -> Iterator[str]:
        self._topics += 1
        name = f"bench-{self._topics}"

        def created() -> bool:
            new = confluent_admin.NewTopic(name, partitions, 1)
            self._admin.create_topics([new], operation_timeout=30)[name].result(30)
            return True

        def led() -> bool:
            found = self._admin.list_topics(name, timeout=5).topics[name].partitions
            return len(found) == partitions and all(one.leader >= 0 for one in found.values())

        self._until(created)
        self._until(led)
        yield name
        self._admin.delete_topics([name], operation_timeout=30)[name].result(30)

    def _until(self, check: Callable[[], bool]) -> None:
        end = time.perf_counter() + GIVE_UP_S
        while True:
            try:
                if check():
                    return
            except confluent_kafka.KafkaException:
                assert time.perf_counter() < end, f"{self._peer.label} does not answer"
            time.sleep(0.02)

    def _largest_broker(self) -> float:
        brokers = [pid for name, pid in self._pids.items() if name.startswith("broker")]
        return max(psutil.Process(pid).memory_info().rss for pid in brokers) / 1e6


def _closed_loop(producer: confluent_kafka.Producer, topic: str, seconds: float, latencies: list[float]) -> None:
    under_way, value = 0, _payloads(100)[0]

    def done(begun: float, error: Any, _: Any) -> None:
        nonlocal under_way
        assert error is None, error
        under_way -= 1
        latencies.append(time.perf_counter() - begun)

    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        while under_way < 5:
            under_way += 1
            producer.produce(topic, value, partition=0, on_delivery=partial(done, time.perf_counter()))
        producer.poll(1)
    producer.flush(GIVE_UP_S)


def _payloads(size: int) -> list[bytes]:
    """Records that differ, of this size."""
    return [(b'{"id":%d,"text":"' % (number * 7919)).ljust(size - 2, b"x") + b'"}' for number in range(500)]


def _touch_memory() -> None:
    with tempfile.TemporaryFile() as file:
        block = bytes(1 << 20)
        for _ in range(TOUCHED_BYTES >> 20):
            file.write(block)


def table(kafka: Figures, tidelog: Figures) -> str:
    lines = ["| measure | unit | Kafka | Tidelog | ratio | must be |", "|---|---|---|---|---|---|"]
    for name, measure in MEASURES.items():
        theirs, ours = kafka.median(name), tidelog.median(name)
        cells = (
            measure.name.strip() if measure.name[0] != " " else f"&nbsp;&nbsp;{measure.name.strip()}",
            measure.unit,
        )
        lines.append(f"| {cells[0]} | {cells[1]} | {theirs:.3g} | {ours:.3g} | {ours / theirs:.2f} | {measure.must} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="length of each case")
    parser.add_argument("--warm-up", type=float, default=5.0, help="length of each case before anything is measured")
    parser.add_argument("--rounds", type=int, default=1, help="how often each system has its turn")
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--jars", type=Path, help="a folder of Kafka's jars; fetched with mvn if it is not given")
    options = parser.parse_args()
    jars = options.jars or fetch_jars()
    figures: dict[str, Figures] = {"kafka": Figures(), "tidelog": Figures()}
    others: list[float] = []
    for number in range(options.rounds):
        for name, found in figures.items():
            folder = Path(tempfile.mkdtemp(prefix=f"bench-{name}-"))
            peer: Peer = (
                KafkaPeer(jars, folder, KAFKA_PORTS, options.brokers)
                if name == "kafka"
                else TidelogPeer(folder, TIDELOG_PORTS, options.brokers)
            )
            print(f"round {number + 1}: {peer.label}", flush=True)
            runner = Runner(peer, options.brokers, options.seconds, found)
            try:
                runner.start()
                if options.warm_up:
                    runner.warm_up(options.warm_up)
                runner.run()
            finally:
                peer.down()
                shutil.rmtree(folder, ignore_errors=True)
            others += runner.cores_of_others
    print(table(figures["kafka"], figures["tidelog"]))
    print(
        f"\n{os.cpu_count()} cores, {options.brokers} brokers, {options.rounds} rounds of {options.seconds:g} s a case, "
        f"after {options.warm_up:g} s of each to warm up; "
        f"others used {statistics.mean(others):.2f} cores meanwhile (at most {max(others):.2f})."
    )


if __name__ == "__main__":
    main()
