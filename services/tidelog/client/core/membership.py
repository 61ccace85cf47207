"""A member's part in its group.

    UNJOINED --join--> JOINING --synced--> STABLE
        ^                 |                  |  heartbeat says "rebalance", the subscription or the topics changed
        |                 v                  v
        +--- fenced, unknown, not polling   needs_join: the next poll joins again, still as the same member

In the eager protocol a member gives up everything before it joins. In the cooperative one it keeps what it has, gives up
after the round what it was not assigned any more, and joins once more so that others may have it. A member that lost
its place without being asked (its session ended) must take its partitions for lost.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from tidelog.client.records import ConsumerGroupMetadata, TopicPartition
from tidelog.kafka.errors import KafkaCode

_NO_GENERATION = -1


class MemberState(Enum):
    UNJOINED = "unjoined"
    JOINING = "joining"
    STABLE = "stable"


@dataclass(frozen=True, slots=True)
class Change:
    """What a finished round means for a member's partitions, in the order in which it is carried out."""

    revoked: frozenset[TopicPartition]
    added: frozenset[TopicPartition]
    joins_again: bool


class Membership:
    """Who this member is, and whether it has to join."""

    def __init__(
        self,
        group_id: str,
        group_instance_id: str | None,
        *,
        session_timeout_ms: int,
        heartbeat_interval_ms: int,
        max_poll_interval_ms: int,
    ) -> None:
        self.group_id = group_id
        self.group_instance_id = group_instance_id
        self.state = MemberState.UNJOINED
        self.member_id = ""
        self.generation_id = _NO_GENERATION
        self.protocol_name = ""
        self.is_leader = False
        self.needs_join = True
        self._topics_changed = False
        # Its place is gone, and with it its partitions.
        self.has_lost_partitions = False
        # Nothing can be done any more: another process uses the same group.instance.id, for example.
        self.fatal: KafkaCode | None = None
        self._session_timeout_ms = session_timeout_ms
        self._heartbeat_interval_ms = heartbeat_interval_ms
        self._max_poll_interval_ms = max_poll_interval_ms
        self._last_heartbeat_ms = 0
        self._last_answer_ms = 0
        self._last_poll_ms = 0

    def metadata(self) -> ConsumerGroupMetadata:
        return ConsumerGroupMetadata(self.group_id, self.generation_id, self.member_id, self.group_instance_id)

    @property
    def is_member(self) -> bool:
        return self.generation_id != _NO_GENERATION

    # ---- rounds

    def on_joining(self) -> None:
        """A round begins, with the topics as they are now."""
        self.state = MemberState.JOINING
        # Reasons to join that come up during the round are for the next one.
        self.needs_join = self._topics_changed = False

    def on_joining_again(self) -> None:
        """The same round, after a refusal. It still names the topics of its beginning, so a change of them stays due."""
        self.state = MemberState.JOINING
        self.needs_join = self._topics_changed

    def on_member_id(self, member_id: str) -> None:
        """The coordinator wants the member to join once more under this id."""
        self.member_id = member_id

    def on_joined(self, member_id: str, generation_id: int, protocol_name: str, *, is_leader: bool) -> None:
        self.member_id = member_id
        self.generation_id = generation_id
        self.protocol_name = protocol_name
        self.is_leader = is_leader

    def on_synced(self, now_ms: int) -> None:
        self.state = MemberState.STABLE
        self._last_heartbeat_ms = self._last_answer_ms = now_ms

    def change(
        self, owned: Iterable[TopicPartition], assigned: Iterable[TopicPartition], *, is_cooperative: bool
    ) -> Change:
        """What to give up and what to start. In the eager protocol nothing is owned at this time."""
        before, after = frozenset(owned), frozenset(assigned)
        revoked = before - after
        if is_cooperative and revoked:
            self.needs_join = True
        return Change(revoked, after - before, joins_again=is_cooperative and bool(revoked))

    def want_join(self) -> None:
        """The topics or their partitions have changed."""
        self.needs_join = self._topics_changed = True

    # ---- answers

    def on_heartbeat_answer(self, code: KafkaCode, now_ms: int) -> None:
        if code in (KafkaCode.NONE, KafkaCode.REBALANCE_IN_PROGRESS):
            self._last_answer_ms = now_ms
        self.on_refusal(code)

    def on_refusal(self, code: KafkaCode) -> None:
        """What an answer of the coordinator, to whatever was asked, says about the membership."""
        match code:
            case KafkaCode.REBALANCE_IN_PROGRESS:
                self.needs_join = True
            case KafkaCode.ILLEGAL_GENERATION:
                self.lose_place(keeps_id=True)
            case KafkaCode.UNKNOWN_MEMBER_ID:
                self.lose_place(keeps_id=False)
            case KafkaCode.FENCED_INSTANCE_ID:
                self.lose_place(keeps_id=False)
                self.fatal = code

    def lose_place(self, *, keeps_id: bool) -> None:
        """The group goes on without this member."""
        if self.is_member:
            self.has_lost_partitions = True
        self.state = MemberState.UNJOINED
        self.generation_id = _NO_GENERATION
        self.is_leader = False
        self.needs_join = True
        if not keeps_id:
            self.member_id = ""

    def on_left(self) -> None:
        """It has left by itself, which is no loss."""
        self.lose_place(keeps_id=False)
        self.has_lost_partitions = False

    # ---- time

    def on_poll(self, now_ms: int) -> None:
        self._last_poll_ms = now_ms

    def is_heartbeat_due(self, now_ms: int) -> bool:
        return self.state is MemberState.STABLE and now_ms >= self._last_heartbeat_ms + self._heartbeat_interval_ms

    def on_heartbeat_sent(self, now_ms: int) -> None:
        self._last_heartbeat_ms = now_ms

    def has_session_ended(self, now_ms: int) -> bool:
        """No answer for so long that the coordinator must have given the member up."""
        return self.state is MemberState.STABLE and now_ms > self._last_answer_ms + self._session_timeout_ms

    def is_application_stuck(self, now_ms: int) -> bool:
        """The application has not polled for so long that others should have its partitions."""
        return self.is_member and now_ms > self._last_poll_ms + self._max_poll_interval_ms
