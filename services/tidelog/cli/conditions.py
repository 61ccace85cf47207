"""What is wrong with a cluster, and what would be if a broker stopped: judged from what its metadata says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.client.core.cluster import PartitionInfo


@dataclass(frozen=True, slots=True)
class Trouble:
    """One partition, and what it suffers from."""

    topic: str
    partition: int
    reason: str

    def document(self) -> dict[str, str | int]:
        return {"topic": self.topic, "partition": self.partition, "reason": self.reason}

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} {self.reason}"


def troubles_now(partitions: "Iterable[PartitionInfo]", min_isr: Mapping[str, int]) -> list[Trouble]:
    """Partitions without a leader, with too few copies to be written, or with a copy that is not in sync."""
    found = []
    for each in partitions:
        if each.leader < 0:
            found.append(Trouble(each.topic, each.partition, "has no leader"))
        elif len(each.isr) < min_isr.get(each.topic, 1):
            found.append(Trouble(each.topic, each.partition, _too_few(len(each.isr), min_isr[each.topic])))
        elif len(each.isr) < len(each.replicas):
            behind = ", ".join(str(broker) for broker in each.replicas if broker not in each.isr)
            found.append(Trouble(each.topic, each.partition, f"is under-replicated: {behind} not in sync"))
    return found


def troubles_without(broker: int, partitions: "Iterable[PartitionInfo]", min_isr: Mapping[str, int]) -> list[Trouble]:
    """Partitions that nobody could read or write, or nobody with acks=all, if the broker stopped."""
    found = []
    for each in partitions:
        if broker not in each.replicas:
            continue
        left = [other for other in each.isr if other != broker]
        least = min(min_isr.get(each.topic, 1), len(each.replicas))
        if not left:
            found.append(Trouble(each.topic, each.partition, "would have no leader"))
        elif broker in each.isr and len(left) < least:
            found.append(Trouble(each.topic, each.partition, _too_few(len(left), least)))
    return found


def _too_few(in_sync: int, least: int) -> str:
    return f"cannot be written with acks=all: {in_sync} in sync, min.insync.replicas is {least}"
