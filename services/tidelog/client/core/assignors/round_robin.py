"""Round-robin: all partitions in a row, dealt out one by one."""

from collections.abc import Mapping
from itertools import cycle

from tidelog.client.core.assignors.assignor import Assignment, Assignor, MemberSubscription, in_order
from tidelog.client.records import TopicPartition


class RoundRobinAssignor(Assignor):
    """Who does not want a topic is passed over."""

    name = "roundrobin"

    def assign(self, members: Mapping[str, MemberSubscription], partitions: Mapping[str, int]) -> Assignment:
        assigned: Assignment = {member_id: [] for member_id in members}
        turns = cycle(in_order(members))
        for topic in sorted(partitions):
            if not any(topic in each.topics for each in members.values()):
                continue
            for number in range(partitions[topic]):
                taker = next(each for each in turns if topic in members[each].topics)
                assigned[taker].append(TopicPartition(topic, number))
        return assigned
