"""Range: the partitions of each topic in consecutive pieces, the first members getting one more."""

from collections.abc import Mapping

from tidelog.client.core.assignors.assignor import Assignment, Assignor, MemberSubscription, in_order
from tidelog.client.records import TopicPartition


class RangeAssignor(Assignor):
    """10 partitions over 3 members are 4, 3 and 3; topics with as many partitions are cut alike."""

    name = "range"

    def assign(self, members: Mapping[str, MemberSubscription], partitions: Mapping[str, int]) -> Assignment:
        assigned: Assignment = {member_id: [] for member_id in members}
        ordered = in_order(members)
        for topic in sorted(partitions):
            takers = [each for each in ordered if topic in members[each].topics]
            first = 0
            for turn, member_id in enumerate(takers):
                count = partitions[topic] // len(takers) + (turn < partitions[topic] % len(takers))
                assigned[member_id] += (TopicPartition(topic, number) for number in range(first, first + count))
                first += count
        return assigned
