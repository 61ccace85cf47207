"""Members of one consumer group, and what must hold for what they are told.

    OWNER   in one generation at most one member owns a partition
    OFFSET  a committed offset never goes back by itself: who fetches it gets no less than what was acknowledged before

Members join, heartbeat, commit, leave, fall silent without leaving, and come back with what they knew before.
"""

from typing import TYPE_CHECKING

from tests.support.sim.clients import NoAnswer, Wire, pause
from tidelog.kafka.cluster import CONSUMER_OFFSETS
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest
from tidelog.kafka.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from tidelog.kafka.wire.messages.leave_group import LeaveGroupRequest, LeavingMember
from tidelog.kafka.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.kafka.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tidelog.kafka.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

if TYPE_CHECKING:
    from tests.support.sim.world import World

GROUP = "group"
TOPIC = "t"
PARTITIONS = (0, 1)
_JOIN, _SYNC, _HEARTBEAT, _LEAVE, _COMMIT, _FETCH = 5, 3, 3, 3, 7, 5
_SESSION_MS, _REBALANCE_MS = 2_000, 2_500
_TRY_AGAIN = frozenset(
    {
        KafkaCode.NOT_COORDINATOR,
        KafkaCode.COORDINATOR_NOT_AVAILABLE,
        KafkaCode.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaCode.REQUEST_TIMED_OUT,
    }
)
# A subscription of version 0 without topics; nobody but the members themselves reads it.
_SUBSCRIPTION = b"\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"


class GroupRules:
    """What the members were told, all of them together."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._owners: dict[tuple[int, int], str] = {}
        self._acked: dict[int, int] = {}
        self.generations = 0
        self.commits = 0

    def on_assigned(self, generation: int, member: str, partitions: tuple[int, ...]) -> None:
        self.generations = max(self.generations, generation)
        self._world.trace.note("k0", f"{member[-8:]} owns {partitions} in generation {generation}")
        for partition in partitions if self._is_promised else ():
            known = self._owners.setdefault((generation, partition), member)
            if known != member:
                self._world.fail(f"OWNER: {known} and {member} both own {partition} in generation {generation}")

    @property
    def _is_promised(self) -> bool:
        """Not if a log was lost with all who had it."""
        return not self._world.invariants.lost_partitions

    def acked(self, partition: int) -> int:
        return self._acked.get(partition, -1)

    def on_committed(self, partition: int, offset: int) -> None:
        self.commits += 1
        self._acked[partition] = max(self.acked(partition), offset)

    def on_fetched(self, partition: int, offset: int, acked_before: int) -> None:
        if offset < acked_before and self._is_promised:
            self._world.fail(f"OFFSET: {acked_before} was committed for {partition}, and {offset} is fetched")


class Member:
    def __init__(self, world: "World", rules: GroupRules, number: int) -> None:
        self._world = world
        self._rules = rules
        self._wire = Wire(world, f"member-{number}", CONSUMER_OFFSETS)
        self._id = ""
        self._generation = -1

    async def live(self) -> None:
        await pause(self._world, 0, 1_000)
        while True:
            try:
                owned = await self._join()
                if owned is not None:
                    await self._own(owned)
            except NoAnswer:
                await pause(self._world, 50, 300)

    async def _join(self) -> tuple[int, ...] | None:
        """What is owned in a new generation; None if it came to nothing."""
        joined = await self._wire.ask(
            JoinGroupRequest(
                group_id=GROUP,
                session_timeout_ms=_SESSION_MS,
                rebalance_timeout_ms=_REBALANCE_MS,
                member_id=self._id,
                protocol_type="consumer",
                protocols=[JoinGroupRequestProtocol(name="sim", metadata=_SUBSCRIPTION)],
            ),
            _JOIN,
            timeout_s=6.0,
        )
        if joined.error_code == KafkaCode.MEMBER_ID_REQUIRED:
            self._id = joined.member_id
            return None
        if not await self._went_well(joined.error_code):
            return None
        self._id, self._generation = joined.member_id, joined.generation_id
        synced = await self._wire.ask(
            SyncGroupRequest(
                group_id=GROUP,
                generation_id=self._generation,
                member_id=self._id,
                assignments=self._shares(joined),
            ),
            _SYNC,
            timeout_s=6.0,
        )
        if not await self._went_well(synced.error_code):
            return None
        owned = tuple(synced.assignment)
        self._rules.on_assigned(self._generation, self._id, owned)
        return owned

    def _shares(self, joined: JoinGroupResponse) -> list[SyncGroupRequestAssignment]:
        """The leader's part: each partition to one of the members, as luck will have it."""
        if joined.leader != self._id:
            return []
        ids = sorted(member.member_id for member in joined.members)
        shares: dict[str, list[int]] = {id: [] for id in ids}
        for partition in PARTITIONS:
            shares[self._world.random.choice(ids)].append(partition)
        return [SyncGroupRequestAssignment(member_id=id, assignment=bytes(share)) for id, share in shares.items()]

    async def _own(self, partitions: tuple[int, ...]) -> None:
        """Until the generation is over, or until this member has enough of it."""
        offsets = await self._fetch(partitions)
        random = self._world.random
        while offsets is not None:
            await pause(self._world, 50, 400)
            luck = random.random()
            if luck < 0.03:
                await self._leave()
                return
            if luck < 0.06:
                # Silent for longer than its session: others take over, and it does not know.
                await pause(self._world, 500, 2 * _SESSION_MS)
            try:
                if not await self._commit(offsets) or not await self._beat():
                    return
            except NoAnswer:
                await pause(self._world, 50, 300)

    async def _fetch(self, partitions: tuple[int, ...]) -> dict[int, int] | None:
        acked_before = {partition: self._rules.acked(partition) for partition in partitions}
        topic = OffsetFetchRequestTopic(name=TOPIC, partition_indexes=list(partitions))
        fetched = await self._wire.ask(OffsetFetchRequest(group_id=GROUP, topics=[topic]), _FETCH)
        if not await self._went_well(fetched.error_code):
            return None
        found = {one.partition_index: one for topic_found in fetched.topics for one in topic_found.partitions}
        if any(one.error_code for one in found.values()):
            return None
        for partition, one in found.items():
            self._rules.on_fetched(partition, one.committed_offset, acked_before[partition])
        return {partition: max(one.committed_offset, 0) for partition, one in found.items()}

    async def _commit(self, offsets: dict[int, int]) -> bool:
        for partition in offsets:
            offsets[partition] += self._world.random.randint(1, 3)
        parts = [
            OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset, committed_metadata="")
            for partition, offset in offsets.items()
        ]
        answer = await self._wire.ask(
            OffsetCommitRequest(
                group_id=GROUP,
                generation_id_or_member_epoch=self._generation,
                member_id=self._id,
                topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=parts)],
            ),
            _COMMIT,
        )
        codes = {one.partition_index: one.error_code for topic in answer.topics for one in topic.partitions}
        for partition, code in codes.items():
            if not code:
                self._rules.on_committed(partition, offsets[partition])
        worst = next((code for code in codes.values() if code), 0)
        return worst in _TRY_AGAIN or worst == KafkaCode.REBALANCE_IN_PROGRESS or await self._went_well(worst)

    async def _beat(self) -> bool:
        request = HeartbeatRequest(group_id=GROUP, generation_id=self._generation, member_id=self._id)
        code = (await self._wire.ask(request, _HEARTBEAT)).error_code
        return code in _TRY_AGAIN or await self._went_well(code)

    async def _leave(self) -> None:
        request = LeaveGroupRequest(group_id=GROUP, members=[LeavingMember(member_id=self._id)])
        await self._wire.ask(request, _LEAVE)
        self._id = ""
        await pause(self._world, 100, 2_000)

    async def _went_well(self, code: int) -> bool:
        if code in (KafkaCode.UNKNOWN_MEMBER_ID, KafkaCode.ILLEGAL_GENERATION):
            self._id = self._id if code == KafkaCode.ILLEGAL_GENERATION else ""
        elif code not in (KafkaCode.NONE, KafkaCode.REBALANCE_IN_PROGRESS):
            # The coordinator is somewhere else, or not ready yet.
            await pause(self._world, 50, 300)
        return code == KafkaCode.NONE
