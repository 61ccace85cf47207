"""A consumer's membership in its group: joining, assigning, heartbeats, leaving.

Rounds are driven by polling, so that the application hears of changes to its partitions between two polls and never in the
middle of its work. Heartbeats go on by themselves; if the application stops polling, the member leaves.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tidelog.client.configs.consumer import ConsumerConfig
from tidelog.client.core.assignors.assignor import Assignment, Assignor, MemberSubscription
from tidelog.client.core.assignors.racks import PartitionCounts
from tidelog.client.core.consumer_protocol import read_assignment, read_subscription
from tidelog.client.core.membership import Membership
from tidelog.client.errors import RequestTimeoutError
from tidelog.client.records import TopicPartition
from tidelog.client.shell.client import Client
from tidelog.client.shell.connections import NETWORK_FAULTS
from tidelog.client.shell.coordinators import Coordinator
from tidelog.client.shell.group_calls import heartbeat_request, join_request, leave_request, sync_request
from tidelog.client.shell.sender import now_ms
from tidelog.kafka.errors import PROPERTIES, KafkaCode, KafkaError
from tidelog.kafka.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember

_log = logging.getLogger("tidelog.client.consumer")

# The coordinator answers a join only when the round is complete; it may take a little longer than it has time.
_JOIN_GRACE_MS = 5000
_BEATS_PER_INTERVAL = 4
_LEAVE_TIMEOUT_MS = 2000
# A round that was overtaken by the next one is simply joined again.
_JOIN_AGAIN = frozenset(
    {
        KafkaCode.REBALANCE_IN_PROGRESS,
        KafkaCode.ILLEGAL_GENERATION,
        KafkaCode.UNKNOWN_MEMBER_ID,
        KafkaCode.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaCode.COORDINATOR_NOT_AVAILABLE,
        KafkaCode.NOT_COORDINATOR,
    }
)


@dataclass(frozen=True, slots=True)
class Round:
    """What a member brings into a round."""

    topics: tuple[str, ...]
    owned: frozenset[TopicPartition]


class Group:
    """The member and its tasks."""

    def __init__(
        self,
        client: Client,
        config: ConsumerConfig,
        assignors: list[Assignor],
        coordinator: Coordinator,
        on_change: Callable[[], None],
    ) -> None:
        assert config.group_id is not None, "only a consumer with a group.id is in a group"
        self.member = Membership(
            config.group_id,
            config.group_instance_id,
            session_timeout_ms=config.session_timeout_ms,
            heartbeat_interval_ms=config.heartbeat_interval_ms,
            max_poll_interval_ms=config.max_poll_interval_ms,
        )
        # Members can only keep their partitions during a round if every protocol that may be chosen allows it.
        self.is_cooperative = all(each.is_cooperative for each in assignors)
        self._client = client
        self._config = config
        self._assignors = assignors
        self._coordinator = coordinator
        self._on_change = on_change
        self._joining: asyncio.Task[list[TopicPartition]] | None = None
        self._heart: asyncio.Task[None] | None = None
        # What the leader assigned by: if it is no longer so, the group has to rebalance.
        self._assigned_by: dict[str, int] | None = None

    @property
    def is_joining(self) -> bool:
        return self._joining is not None

    def start_round(self, round_: Round) -> None:
        """Join in the background; `finish_round` waits for it."""
        assert self._joining is None, "one round at a time"
        self.member.on_joining()
        self._joining = asyncio.create_task(self._join_until_synced(round_))
        if self._heart is None:
            self._heart = asyncio.create_task(self._beat())

    async def finish_round(self, timeout_s: float) -> list[TopicPartition] | None:
        """The partitions of the new generation; None if it takes longer. Raises KafkaError if joining has failed."""
        assert self._joining is not None, "a round was started"
        await asyncio.wait({self._joining}, timeout=timeout_s)
        if not self._joining.done():
            return None
        task, self._joining = self._joining, None
        try:
            return task.result()
        except BaseException:
            self.member.want_join()
            raise

    async def leave(self, reason: str) -> None:
        """Give up the membership, so that others need not wait for the session to end; a static member just stops."""
        await self._cancel_round()
        if self.member.member_id and self.member.group_instance_id is None:
            try:
                async with asyncio.timeout(_LEAVE_TIMEOUT_MS / 1000):
                    await self._coordinator.ask(leave_request(self.member, reason), lambda answer: answer.error_code)
            except (KafkaError, RequestTimeoutError, *NETWORK_FAULTS) as error:
                _log.info("leaving group %s failed, so its session must end: %s", self.member.group_id, error)
        self.member.on_left()

    async def close(self) -> None:
        await self.leave("the consumer is being closed")
        if self._heart is not None:
            self._heart.cancel()
            await asyncio.gather(self._heart, return_exceptions=True)

    async def _cancel_round(self) -> None:
        if self._joining is not None:
            self._joining.cancel()
            await asyncio.gather(self._joining, return_exceptions=True)
            self._joining = None

    # ---- rounds

    async def _join_until_synced(self, round_: Round) -> list[TopicPartition]:
        while True:
            try:
                answer = await self._join(round_)
                return await self._sync(answer)
            except NETWORK_FAULTS:
                await self._client.back_off()
            except KafkaError as error:
                self.member.on_refusal(error.code)
                if error.code not in _JOIN_AGAIN and not PROPERTIES[error.code].retriable:
                    raise
                await self._client.back_off()

    async def _join(self, round_: Round) -> JoinGroupResponse:
        member = self.member
        member.on_joining_again()
        subscription = MemberSubscription(
            round_.topics,
            tuple(sorted(round_.owned)) if self.is_cooperative else (),
            member.generation_id,
            member.group_instance_id,
            self._config.client_rack or None,
        )
        answer = await self._ask_to_join(subscription)
        member.on_joined(
            answer.member_id,
            answer.generation_id,
            answer.protocol_name or "",
            is_leader=answer.leader == answer.member_id,
        )
        return answer

    async def _ask_to_join(self, subscription: MemberSubscription) -> JoinGroupResponse:
        request = join_request(
            self.member,
            self._assignors,
            subscription,
            session_timeout_ms=self._config.session_timeout_ms,
            rebalance_timeout_ms=self._config.max_poll_interval_ms,
        )
        link = await self._coordinator.link()
        answer_timeout_ms = max(self._config.max_poll_interval_ms, self._config.session_timeout_ms) + _JOIN_GRACE_MS
        try:
            answer = await link.call(request, timeout_ms=answer_timeout_ms)
        except NETWORK_FAULTS:
            self._coordinator.forget()
            raise
        if answer.error_code == KafkaCode.MEMBER_ID_REQUIRED:
            self.member.on_member_id(answer.member_id)
            return await self._ask_to_join(subscription)
        if answer.error_code in (KafkaCode.NOT_COORDINATOR, KafkaCode.COORDINATOR_NOT_AVAILABLE):
            self._coordinator.forget()
        if answer.error_code:
            raise KafkaError(KafkaCode(answer.error_code))
        return answer

    async def _sync(self, joined: JoinGroupResponse) -> list[TopicPartition]:
        assigned: Assignment = {}
        self._assigned_by = None
        if self.member.is_leader and not joined.skip_assignment:
            assigned = await self._assign(joined.protocol_name or "", joined.members)
        answer = await self._coordinator.ask(
            sync_request(self.member, assigned),
            lambda answer: answer.error_code,
            answer_timeout_ms=self._config.max_poll_interval_ms + _JOIN_GRACE_MS,
        )
        partitions = read_assignment(answer.assignment)
        self.member.on_synced(now_ms())
        self._assignor(self.member.protocol_name).on_assignment(partitions, self.member.generation_id)
        return partitions

    async def _assign(self, protocol: str, members: list[JoinGroupResponseMember]) -> Assignment:
        subscriptions = {each.member_id: read_subscription(each.metadata, each.group_instance_id) for each in members}
        topics = {topic for each in subscriptions.values() for topic in each.topics}
        metadata = self._client.metadata
        if metadata.follow(topics) or not topics <= metadata.view.topics.keys():
            await metadata.refresh(self._config.request_timeout_ms)
        counts = PartitionCounts(self._partition_counts(topics), metadata.view.racks(topics))
        self._assigned_by = counts
        return self._assignor(protocol).assign(subscriptions, counts)

    def _partition_counts(self, topics: "set[str] | Mapping[str, int]") -> dict[str, int]:
        known = self._client.metadata.view.topics
        return {topic: len(known[topic].partitions) for topic in topics if topic in known and known[topic].partitions}

    def _assignor(self, name: str) -> Assignor:
        for each in self._assignors:
            if each.name == name:
                return each
        raise KafkaError(KafkaCode.INCONSISTENT_GROUP_PROTOCOL, f"the group chose {name}, which this member lacks")

    def on_metadata(self, followed: "set[str]") -> None:
        """The leader answers for the partitions of all topics of the group."""
        if (
            self._assigned_by is not None
            and self._partition_counts(followed | self._assigned_by.keys()) != self._assigned_by
        ):
            self._assigned_by = None
            self.member.want_join()
            self._on_change()

    # ---- heartbeats

    async def _beat(self) -> None:
        pause_s = self._config.heartbeat_interval_ms / _BEATS_PER_INTERVAL / 1000
        while True:
            await asyncio.sleep(pause_s)
            now = now_ms()
            if self.member.is_application_stuck(now) and self._joining is None:
                _log.warning(
                    "the application has not polled for max.poll.interval.ms, %d: leaving group %s",
                    self._config.max_poll_interval_ms,
                    self.member.group_id,
                )
                await self._give_up_place()
            elif self.member.has_session_ended(now):
                self._coordinator.forget()
                self.member.lose_place(keeps_id=True)
                self._on_change()
            elif self.member.is_heartbeat_due(now):
                await self._heartbeat(now)

    async def _give_up_place(self) -> None:
        await self.leave("the application does not poll")
        self.member.has_lost_partitions = True
        self._on_change()

    async def _heartbeat(self, now: int) -> None:
        who = self.member.metadata()
        self.member.on_heartbeat_sent(now)
        code = KafkaCode.NONE
        try:
            await self._coordinator.ask(heartbeat_request(self.member), lambda answer: answer.error_code)
        except KafkaError as error:
            code = error.code
        except (RequestTimeoutError, *NETWORK_FAULTS):
            return
        # An answer to a former generation says nothing about this one.
        if who == self.member.metadata():
            needed_join = self.member.needs_join
            self.member.on_heartbeat_answer(code, now_ms())
            if self.member.needs_join and not needed_join:
                self._on_change()
