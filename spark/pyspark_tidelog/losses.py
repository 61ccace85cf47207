"""Records that are gone before a query has read them: found by comparing where it was with what there is."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark_tidelog.errors import DataLossError
from pyspark_tidelog.offsets import Offsets
from tidelog.client.records import TopicPartition


@dataclass(frozen=True, slots=True)
class Extent:
    """What the cluster has: the first offset of each partition, the one after the last, and the ids of topics."""

    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Resumption:
    """Where to go on in each partition, and a sentence for each gap."""

    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)


def resume(at: Offsets, extent: Extent) -> Resumption:
    """Where a query that stopped `at` these offsets goes on; partitions that are new begin at their first record."""
    found = Resumption()
    for partition in extent.starts:
        found.offsets[partition] = extent.starts[partition]
    for partition, offset in at.by_partition.items():
        loss = _loss(partition, offset, at, extent)
        if loss:
            found.losses.append(loss)
        if partition in extent.starts and not at.is_of_other_topic(partition.topic, extent.topic_ids):
            found.offsets[partition] = min(max(offset, extent.starts[partition]), extent.ends[partition])
    return found


def _loss(partition: TopicPartition, offset: int, at: Offsets, extent: Extent) -> str:
    if partition not in extent.starts:
        return f"{partition} does not exist any more; the query was at offset {offset}"
    start, end = extent.starts[partition], extent.ends[partition]
    if at.is_of_other_topic(partition.topic, extent.topic_ids):
        return f"{partition} belongs to a topic that was re-created; the query was at offset {offset} of the old one"
    if offset < start:
        return f"{partition} lost offsets {offset} to {start - 1}; its log begins at {start} now"
    if offset > end:
        return f"{partition} ends at offset {end} now, and the query was at {offset}"
    return ""


def loss_error(losses: list[str]) -> DataLossError:
    return DataLossError(
        f"Records are gone that the query has not read: {'; '.join(losses)}. "
        "Set failOnDataLoss=false to go on without them, or begin anew with another checkpoint."
    )
