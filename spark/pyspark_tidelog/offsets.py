"""Offsets of many partitions, as values and as the JSON that Spark keeps in checkpoints.

The JSON is that of Spark's Kafka source, {"topic": {"0": 5}}, with one more entry, "$ids", that no topic can be named: it
tells a topic from another one that was made later under the same name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tidelog.client.records import TopicPartition

_IDS = "$ids"


@dataclass(frozen=True, slots=True)
class Offsets:
    """Where each partition is, and which topic its name meant."""

    by_partition: Mapping[TopicPartition, int] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "Offsets":
        topics = {name: numbers for name, numbers in told.items() if name != _IDS}
        return cls(partition_numbers(topics), dict(told.get(_IDS, {})))

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for partition, offset in sorted(self.by_partition.items()):
            told.setdefault(partition.topic, {})[str(partition.partition)] = offset
        if self.topic_ids:
            told[_IDS] = dict(sorted(self.topic_ids.items()))
        return told

    def is_of_other_topic(self, topic: str, ids: Mapping[str, str]) -> bool:
        """Whether the name means another topic now. Checkpoints without ids are taken at their names."""
        known, now = self.topic_ids.get(topic), ids.get(topic)
        return known is not None and now is not None and known != now


def partition_numbers(told: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """A number for each partition out of {"topic": {"0": number}}."""
    return {
        TopicPartition(topic, int(partition)): int(number)
        for topic, numbers in told.items()
        for partition, number in numbers.items()
    }


def as_text(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(map(str, sorted(partitions)))
