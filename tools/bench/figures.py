"""What a comparison measures, what each system brought, and the table of both side by side."""

import statistics
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Measure:
    """One line of the table. `must` is the ratio to Kafka, or the figure, that Tidelog is held to."""

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
    "small p50": Measure("  p50", "ms", ""),
    "produce all": Measure("produce acks=all, 3 replicas, 1 KiB, default batching", "MB/s", ">= 1.2 x"),
    "produce all cpu": Measure("  server CPU", "s/GB", "<= 0.7 x"),
    "produce all 100B": Measure("produce acks=all, 3 replicas, 100 B, default batching", "1000 records/s", ">= 1.0 x"),
    "produce all 100B cpu": Measure("  server CPU", "s/GB", "<= 0.7 x"),
    "small all": Measure("one record per request, acks=all, 3 replicas, 1 in flight", "1/s", ">= 1.2 x"),
    "small all cpu": Measure("  server CPU", "ms each", "<= 0.6 x"),
    "small all p50": Measure("  p50", "ms", ""),
    "small all p99": Measure("  p99", "ms", ""),
    "e2e p50": Measure("end to end, 1000/s of 1 KiB, acks=all, 3 replicas: p50", "ms", ""),
    "e2e p99": Measure("  p99", "ms", "<= 1.0 x"),
    "create 1000": Measure("create 1000 partitions of one replica", "s", "<= 0.8 x"),
    "create 300": Measure("create 300 partitions of three replicas", "s", "<= 0.8 x"),
    "join 1": Measure("group of 1 joins", "s", ""),
    "join 10": Measure("group of 10 joins", "s", "<= 0.8 x"),
    "join 100": Measure("group of 100 joins", "s", ""),
    "commit": Measure("sync commits of one consumer", "1/s", ">= 1.2 x"),
    "commit p99": Measure("  p99", "ms", ""),
    "kill gap": Measure("SIGKILL of a leader: longest gap between acks", "s", "1.0 s"),
    "term gap": Measure("SIGTERM of a leader: longest gap between acks", "s", "0.3 s"),
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


def table(kafka: Figures, tidelog: Figures) -> str:
    lines = ["| measure | unit | Kafka | Tidelog | ratio | must be |", "|---|---|---|---|---|---|"]
    for name, measure in MEASURES.items():
        if name not in kafka.values:
            continue
        theirs, ours = kafka.median(name), tidelog.median(name)
        cells = (
            measure.name.strip() if measure.name[0] != " " else f"&nbsp;&nbsp;{measure.name.strip()}",
            measure.unit,
        )
        lines.append(f"| {cells[0]} | {cells[1]} | {theirs:.3g} | {ours:.3g} | {ours / theirs:.2f} | {measure.must} |")
    return "\n".join(lines)
