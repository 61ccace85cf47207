"""Range: the partitions of each topic in consecutive pieces, the first members getting one more.

Members that tell their rack get partitions with a replica there as far as their share goes, and whatever is left after that.
Topics with as many partitions and the same takers are cut alike in either case, so that they can be joined.
"""

from collections.abc import Mapping

from tidelog.client.core.assignors.assignor import Assignment, Assignor, MemberSubscription, in_order
from tidelog.client.core.assignors.racks import Racks, racks_of
from tidelog.client.records import TopicPartition


class RangeAssignor(Assignor):
    """10 partitions over 3 members are 4, 3 and 3; topics with as many partitions are cut alike."""

    name = "range"

    def assign(self, members: Mapping[str, MemberSubscription], partitions: Mapping[str, int]) -> Assignment:
        assigned: Assignment = {member_id: [] for member_id in members}
        racks = racks_of(partitions, members)
        ordered = in_order(members)
        alike: dict[tuple[int, tuple[str, ...]], list[str]] = {}
        for topic in sorted(partitions):
            takers = tuple(each for each in ordered if topic in members[each].topics)
            alike.setdefault((partitions[topic], takers), []).append(topic)
        for (count, takers), topics in alike.items():
            near = [_common_racks(racks, topics, number) for number in range(count)]
            for member_id, numbers in _cut(takers, members, near).items():
                assigned[member_id] += (TopicPartition(topic, number) for topic in topics for number in numbers)
        return assigned


def _common_racks(racks: Mapping[TopicPartition, Racks], topics: list[str], number: int) -> Racks:
    """Where a partition has a replica in each of the topics."""
    each = [racks.get(TopicPartition(topic, number), frozenset()) for topic in topics]
    return frozenset.intersection(*each)


def _cut(takers: tuple[str, ...], members: Mapping[str, MemberSubscription], near: list[Racks]) -> dict[str, list[int]]:
    """The numbers of each taker: those near it first, then the others in their order."""
    if not takers:
        return {}
    least, more = divmod(len(near), len(takers))
    shares = {member_id: least + (turn < more) for turn, member_id in enumerate(takers)}
    cut: dict[str, list[int]] = {member_id: [] for member_id in takers}
    left = list(range(len(near)))
    for member_id in takers:
        rack = members[member_id].rack
        cut[member_id] = [number for number in left if rack in near[number]][: shares[member_id]]
        left = [number for number in left if number not in cut[member_id]]
    for member_id in takers:
        wanting = shares[member_id] - len(cut[member_id])
        cut[member_id] = sorted(cut[member_id] + left[:wanting])
        left = left[wanting:]
    return cut
