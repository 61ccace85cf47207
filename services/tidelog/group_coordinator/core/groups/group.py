"""One consumer group: its state, its members and what they have in common.

Members are kept in the order in which they came. The leader is the first of them, until it does not come to a
rebalance. Whoever changes members does it here, so that the counts over them stay right.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from tidelog.group_coordinator.core.groups.member import Member, Protocols
from tidelog.group_coordinator.core.groups.states import COMPLETING, EMPTY, PREVIOUS, GroupState
from tidelog.group_coordinator.core.groups.subscription import CONSUMER_PROTOCOL_TYPE, topics_of_all
from tidelog.kafka.errors import KafkaCode, KafkaError


@dataclass(frozen=True, slots=True)
class InitialDelay:
    """How long the first rebalance waits now, and how much longer it may at most."""

    delay_ms: int
    remaining_ms: int


class Group:
    def __init__(self, group_id: str, state_timestamp_ms: int | None = None) -> None:
        self.id = group_id
        self.state = EMPTY
        self.previous_state = EMPTY
        self.state_timestamp_ms = state_timestamp_ms
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        # Ids that were handed out and not used yet, oldest first.
        self.pending_members: dict[str, None] = {}
        self.static_members: dict[str, str] = {}
        self.unsynced_members: set[str] = set()
        # None as long as it cannot be told which topics are followed.
        self.followed_topics: frozenset[str] | None = None
        self.initial_delay: InitialDelay | None = None
        self.has_newcomer = False
        # The generation whose assignment is on its way to the log.
        self.storing_generation: int | None = None
        self.commits_in_flight = 0
        self.joined_count = 0
        self._supporters: Counter[str] = Counter()

    # ---- state

    def transition(self, state: GroupState, now_ms: int) -> None:
        assert self.state in PREVIOUS[state], f"group {self.id} cannot go from {self.state} to {state}"
        self.previous_state, self.state = self.state, state
        self.state_timestamp_ms = now_ms

    def in_state_ms(self, now_ms: int) -> int:
        """For how long it has been in its state."""
        return max(now_ms - self.state_timestamp_ms, 0) if self.state_timestamp_ms is not None else 0

    def next_generation(self, now_ms: int) -> None:
        """The join phase is over: those who came are the members of the next generation."""
        self.generation += 1
        self.protocol = self.select_protocol() if self.members else None
        self.transition(COMPLETING if self.members else EMPTY, now_ms)
        self.unsynced_members = set(self.members)
        self.find_followed_topics()

    def find_followed_topics(self) -> None:
        self.followed_topics = (
            topics_of_all(member.metadata(self.protocol) for member in self.members.values())
            if self.protocol_type == CONSUMER_PROTOCOL_TYPE
            else None
        )

    @property
    def is_idle(self) -> bool:
        """Whether nobody is in it, or on the way into it."""
        return self.state is EMPTY and not self.pending_members and not self.commits_in_flight

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def all_joined(self) -> bool:
        return self.joined_count >= len(self.members) and not self.pending_members

    def follows(self, topic: str) -> bool:
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return False
        return topic in self.followed_topics if self.followed_topics is not None else bool(self.members)

    # ---- members

    def member(self, member_id: str, instance_id: str | None) -> Member:
        """The member of this id; an instance id that goes with it must be its own."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is not None and current != member_id:
                raise KafkaError(KafkaCode.FENCED_INSTANCE_ID)
            if current is None:
                raise KafkaError(KafkaCode.UNKNOWN_MEMBER_ID)
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(KafkaCode.UNKNOWN_MEMBER_ID)
        return member

    def add(self, member: Member) -> None:
        assert member.id not in self.members
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader is None:
            self.leader = member.id
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.id
        self.pending_members.pop(member.id, None)
        self.members[member.id] = member
        self._supporters.update(member.protocol_names())

    def remove(self, member: Member) -> None:
        """Its requests must have been answered before, for nobody will find them any more."""
        assert member.join_token is None
        assert member.sync_token is None
        del self.members[member.id]
        self.unsynced_members.discard(member.id)
        self._forget_protocols(member)
        if member.instance_id is not None:
            del self.static_members[member.instance_id]
        if self.leader == member.id:
            self.leader = next(iter(self.members), None)

    def rename(self, member: Member, new_id: str) -> None:
        """Give a static member that restarted a new id, in the same place among the members."""
        assert member.instance_id is not None
        old_id = member.id
        self.members = {new_id if known == old_id else known: found for known, found in self.members.items()}
        self.static_members[member.instance_id] = new_id
        if old_id in self.unsynced_members:
            self.unsynced_members.remove(old_id)
            self.unsynced_members.add(new_id)
        if self.leader == old_id:
            self.leader = new_id
        member.id = new_id

    def change_protocols(self, member: Member, protocols: Protocols) -> None:
        self._forget_protocols(member)
        member.protocols = protocols
        self._supporters.update(member.protocol_names())

    def _forget_protocols(self, member: Member) -> None:
        self._supporters.subtract(member.protocol_names())
        self._supporters = +self._supporters

    # ---- requests that are held back

    def hold_join(self, member: Member, token: object) -> object | None:
        """Hold back a JoinGroup; gives the token of an older one, which it takes the place of."""
        superseded = self.take_join(member)
        member.join_token = token
        self.joined_count += 1
        return superseded

    def take_join(self, member: Member) -> object | None:
        token, member.join_token = member.join_token, None
        if token is not None:
            self.joined_count -= 1
        return token

    # ---- what members have in common

    def supports(self, protocol_type: str, names: Collection[str]) -> bool:
        """Whether a member with these protocols could be one of all."""
        if not self.members:
            return bool(protocol_type) and bool(names)
        return self.protocol_type == protocol_type and any(
            self._supporters[name] == len(self.members) for name in names
        )

    def select_protocol(self) -> str:
        """The protocol with most votes, each member giving its to the first one that all know."""
        votes: Counter[str] = Counter()
        for member in self.members.values():
            votes.update(
                [next(name for name in member.protocol_names() if self._supporters[name] == len(self.members))]
            )
        return votes.most_common(1)[0][0]

    def elect_joined_leader(self) -> bool:
        """See to it that the leader is one of those who came; false if nobody came."""
        if self.leader is not None and self.members[self.leader].join_token is None:
            joined = (member.id for member in self.members.values() if member.join_token is not None)
            self.leader = next(joined, self.leader)
        return self.leader is not None and self.members[self.leader].join_token is not None
