"""Figures of a measurement: throughput, and how late things were."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

PERCENTILES = (50.0, 95.0, 99.0, 99.9)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value that `share` percent of the (ordered) values do not exceed: the nearest rank."""
    if not ordered:
        return 0.0
    return ordered[max(0, math.ceil(len(ordered) * share / 100) - 1)]


@dataclass(slots=True)
class Measured:
    """So many records and bytes in so long, with the latency of each."""

    records: int = 0
    size_bytes: int = 0
    seconds: float = 0.0
    latencies_ms: list[float] = field(default_factory=list)

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds if self.seconds else 0.0

    @property
    def megabytes_per_second(self) -> float:
        return self.size_bytes / self.seconds / 2**20 if self.seconds else 0.0

    def document(self) -> dict[str, Any]:
        """For programs; latencies only where they were measured."""
        document: dict[str, Any] = {
            "records": self.records,
            "bytes": self.size_bytes,
            "seconds": round(self.seconds, 3),
            "records_per_second": round(self.records_per_second, 1),
            "mb_per_second": round(self.megabytes_per_second, 3),
        }
        if self.latencies_ms:
            ordered = sorted(self.latencies_ms)
            document["latency_ms"] = {
                "avg": round(sum(ordered) / len(ordered), 3),
                **{f"p{share:g}": round(percentile(ordered, share), 3) for share in PERCENTILES},
                "max": round(ordered[-1], 3),
            }
        return document

    def kafka_line(self) -> str:
        """The last line of Kafka's producer benchmark."""
        ordered = sorted(self.latencies_ms)
        average = sum(ordered) / len(ordered) if ordered else 0.0
        ranks = ", ".join(f"{percentile(ordered, share):.0f} ms {share:g}th" for share in PERCENTILES)
        return (
            f"{self.records} records sent, {self.records_per_second:.6f} records/sec "
            f"({self.megabytes_per_second:.2f} MB/sec), {average:.2f} ms avg latency, "
            f"{ordered[-1] if ordered else 0.0:.2f} ms max latency, {ranks}."
        )
