"""Sticky: as even as can be, and then as few changes as can be.

A member keeps what it had as long as that is fair. If all want the same topics, fair means that each has the floor or the
ceiling of the mean. Otherwise partitions move from the fullest to the emptiest as long as that evens them out.

The cooperative variant never hands a partition to a new owner while the old one still has it: it goes to nobody in this
round, and the old owner, who finds it missing, gives it up and makes the group rebalance again.

Partitions that nobody keeps go to members in the rack of a replica, if those have as little as the others.
"""

from collections.abc import Iterable, Mapping

from tidelog.client.core.assignors.assignor import Assignment, Assignor, MemberSubscription, in_order
from tidelog.client.core.assignors.racks import racks_of
from tidelog.client.core.assignors.sticky_data import read_sticky_data, write_sticky_data
from tidelog.client.records import TopicPartition


class StickyAssignor(Assignor):
    """Members give everything up when the group rebalances, and remember it for the one who assigns."""

    name = "sticky"

    def __init__(self) -> None:
        self._had: tuple[TopicPartition, ...] = ()
        self._generation = -1

    def assign(self, members: Mapping[str, MemberSubscription], partitions: Mapping[str, int]) -> Assignment:
        return _share(members, partitions, _claims(members, partitions))

    def user_data(self) -> bytes | None:
        return write_sticky_data(self._had, self._generation)

    def on_assignment(self, partitions: Iterable[TopicPartition], generation: int) -> None:
        self._had = tuple(partitions)
        self._generation = generation


class CooperativeStickyAssignor(StickyAssignor):
    """Members keep what they have while the group rebalances."""

    name = "cooperative-sticky"
    is_cooperative = True

    def assign(self, members: Mapping[str, MemberSubscription], partitions: Mapping[str, int]) -> Assignment:
        assigned = super().assign(members, partitions)
        owner = {each: member_id for member_id, member in members.items() for each in member.owned}
        return {
            member_id: [each for each in parts if owner.get(each, member_id) == member_id]
            for member_id, parts in assigned.items()
        }


def _claims(members: Mapping[str, MemberSubscription], partitions: Mapping[str, int]) -> Assignment:
    """What each member had and may keep. Of two that claim a partition, the later generation had it; of equals, none."""
    best: dict[TopicPartition, tuple[int, str | None]] = {}
    for member_id, member in members.items():
        owned, generation = _owned(member)
        for each in owned:
            if each.topic not in member.topics or not 0 <= each.partition < partitions.get(each.topic, 0):
                continue
            rival = best.get(each)
            if rival is None or generation > rival[0]:
                best[each] = (generation, member_id)
            elif generation == rival[0] and rival[1] != member_id:
                best[each] = (generation, None)
    claims: Assignment = {member_id: [] for member_id in members}
    for each in sorted(best):
        winner = best[each][1]
        if winner is not None:
            claims[winner].append(each)
    return claims


def _owned(member: MemberSubscription) -> tuple[Iterable[TopicPartition], int]:
    if member.owned or member.user_data is None:
        return member.owned, member.generation
    return read_sticky_data(member.user_data)


def _share(members: Mapping[str, MemberSubscription], partitions: Mapping[str, int], claims: Assignment) -> Assignment:
    ordered = in_order(members)
    wanted = {topic for each in members.values() for topic in each.topics}
    everything = [
        TopicPartition(topic, n) for topic in sorted(partitions) if topic in wanted for n in range(partitions[topic])
    ]
    if len({frozenset(partitions).intersection(each.topics) for each in members.values()}) <= 1:
        assigned = _keep_fair_share(ordered, claims, len(everything))
    else:
        assigned = {member_id: list(claims[member_id]) for member_id in ordered}
    taken = {each for parts in assigned.values() for each in parts}
    takers = {topic: [each for each in ordered if topic in members[each].topics] for topic in wanted}
    # Those that few may have are dealt out first, while there is still a choice for the others.
    free = sorted((each for each in everything if each not in taken), key=lambda each: (len(takers[each.topic]), each))
    racks = racks_of(partitions, members)
    for each in free:
        near = racks.get(each, frozenset())
        # Of those that have least, somebody in whose rack there is a replica.
        taker = min(
            takers[each.topic], key=lambda member_id: (len(assigned[member_id]), members[member_id].rack not in near)
        )
        assigned[taker].append(each)
    _even_out(assigned, takers)
    return assigned


def _keep_fair_share(ordered: list[str], claims: Assignment, count: int) -> Assignment:
    """Everybody keeps the floor of the mean, and as many as are left over keep one more."""
    floor, left_over = divmod(count, len(ordered))
    kept: Assignment = {}
    for member_id in sorted(ordered, key=lambda each: -len(claims[each])):
        has_one_more = left_over > 0 and len(claims[member_id]) > floor
        left_over -= has_one_more
        kept[member_id] = claims[member_id][: floor + has_one_more]
    return kept


def _even_out(assigned: Assignment, takers: Mapping[str, list[str]]) -> None:
    """Move partitions to whoever may have them and has at least two fewer, until nobody has."""
    moved = True
    while moved:
        moved = False
        for member_id in sorted(assigned, key=lambda each: -len(assigned[each])):
            for each in list(assigned[member_id]):
                poorest = min(takers[each.topic], key=lambda other: len(assigned[other]))
                if len(assigned[poorest]) + 1 < len(assigned[member_id]):
                    assigned[member_id].remove(each)
                    assigned[poorest].append(each)
                    moved = True
