"""Where the replicas of partitions are, for assignors that give members what is near them (KIP-881).

Nearness never makes the shares uneven: it only decides which partitions a member gets. Who has told no rack, or reads
partitions that have a replica in every rack, is served as without racks.
"""

from collections.abc import Mapping

from tidelog.client.core.assignors.assignor import MemberSubscription
from tidelog.client.records import TopicPartition

Racks = frozenset[str]


class PartitionCounts(dict[str, int]):
    """How many partitions each topic has, and in which racks each of them has replicas, where that is known."""

    def __init__(self, counts: Mapping[str, int], racks: Mapping[TopicPartition, Racks] | None = None) -> None:
        super().__init__(counts)
        self.racks: Mapping[TopicPartition, Racks] = racks or {}


def racks_of(
    partitions: Mapping[str, int], members: Mapping[str, MemberSubscription]
) -> Mapping[TopicPartition, Racks]:
    """The racks of partitions, if they can make a difference to any of these members."""
    racks = partitions.racks if isinstance(partitions, PartitionCounts) else {}
    wanted = {member.rack for member in members.values() if member.rack is not None}
    return racks if any(not wanted <= each for each in racks.values()) else {}
