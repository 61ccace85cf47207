"""What an assignor is, and what it knows of a member."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidelog.client.records import TopicPartition

Assignment = dict[str, list[TopicPartition]]


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """What one member wants and, as far as it says so, has."""

    topics: tuple[str, ...]
    owned: tuple[TopicPartition, ...] = ()
    # The generation in which it got them; -1 if it does not say.
    generation: int = -1
    group_instance_id: str | None = None
    rack: str | None = None
    user_data: bytes | None = None


class Assignor:
    """The base of every assignor; an own one has a name of its own and overrides `assign`."""

    name: str
    # Whether members keep what they have while the group rebalances, and give up only what they lose.
    is_cooperative: bool = False

    def assign(self, members: Mapping[str, MemberSubscription], partitions: Mapping[str, int]) -> Assignment:
        """Share out all partitions of the topics that are subscribed to; `partitions` tells how many each topic has.

        It is a `PartitionCounts`, whose `racks` tell where replicas are.
        """
        raise NotImplementedError

    def user_data(self) -> bytes | None:
        """What a member tells the one that assigns, besides its topics."""
        return None

    def on_assignment(self, partitions: Iterable[TopicPartition], generation: int) -> None:
        """What a member got in the end."""


def in_order(members: Mapping[str, MemberSubscription]) -> list[str]:
    """Member ids as Kafka orders them: static members by their instance id first, then the others by member id."""

    def key(member_id: str) -> tuple[bool, str]:
        instance_id = members[member_id].group_instance_id
        return (False, instance_id) if instance_id is not None else (True, member_id)

    return sorted(members, key=key)
