"""How far groups are behind: what they have committed, beside the ends of the partitions."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidelog.client import Admin, GroupDescription, TopicPartition


@dataclass(frozen=True, slots=True)
class Lag:
    """One partition of a group; None where nothing is committed, or nobody reads."""

    group: str
    topic: str
    partition: int
    current_offset: int | None
    log_end_offset: int | None
    lag: int | None
    member_id: str | None = None
    host: str | None = None
    client_id: str | None = None

    def document(self) -> dict[str, Any]:
        return asdict(self)


async def describe_group(admin: "Admin", group: str) -> "GroupDescription":
    """A group that there is; KafkaError(GROUP_ID_NOT_FOUND) for others, which Kafka describes as dead."""
    from tidelog.client import KafkaCode, KafkaError

    found = (await admin.describe_groups([group]))[group]
    if found.state == "Dead":
        raise KafkaError(KafkaCode.GROUP_ID_NOT_FOUND, f"{group}: Consumer group '{group}' does not exist.")
    return found


async def group_lags(admin: "Admin", description: "GroupDescription") -> list[Lag]:
    """Every partition that the group has committed or that a member reads."""
    committed = await admin.list_group_offsets(description.group_id)
    readers = {partition: member for member in description.members for partition in member.partitions}
    ends = await end_offsets(admin, {*committed, *readers})
    lags = []
    for partition in sorted({*committed, *readers}):
        reader, place, end = readers.get(partition), committed.get(partition), ends.get(partition)
        current = None if place is None else place.offset
        lags.append(
            Lag(
                description.group_id,
                *partition,
                current,
                end,
                None if current is None or end is None else max(0, end - current),
                None if reader is None else reader.member_id,
                None if reader is None else reader.host,
                None if reader is None else reader.client_id,
            )
        )
    return lags


async def end_offsets(admin: "Admin", partitions: "Iterable[TopicPartition]") -> "dict[TopicPartition, int]":
    """The ends of those partitions that there are and that have a leader."""
    await admin.list_topics(include_internal=True)
    led = [each for each in partitions if admin.metadata.view.leader(*each) >= 0]
    found = await admin.list_offsets(dict.fromkeys(led, "latest"))
    return {each: place.offset for each, place in found.items()}
