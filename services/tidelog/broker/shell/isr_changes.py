"""Changes of in-sync sets, as leaders here propose them: written to ZooKeeper, and announced to the controller.

A write expects the version of the state znode that the leader knows, so that a leader whose time is over writes nothing.
It carries the epoch of the controller that made this broker leader. A write whose answer is lost is repeated: if then
the version is another one, but the content is what was to be written, it had gone through.

Announcements are collected for a moment, so that a broker that comes back with a thousand partitions is a few nodes
under /isr_change_notification and not a thousand. Kafka collects for seconds; here it is a tenth of one, because until
the controller has read the new set, clients are told the old one, and a reassignment waits for it.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.core.partition_leader import ISR
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import PartitionEpoch
from tidelog.runtime import logs
from tidelog.zk.errors import BadVersion, NoNode, ZkError
from tidelog.zk.znodes import IsrChangeZnode, MalformedZnode, PartitionState, PartitionStateZnode

if TYPE_CHECKING:
    from tidelog.broker.core.partition_leader import PartitionLeader, ProposeIsr
    from tidelog.broker.shell.partition import Partition
    from tidelog.kafka.types import TopicPartition
    from tidelog.runtime.clock import Clock
    from tidelog.zk.session import ZkSession

_ANNOUNCE_AFTER_S = 0.1
_TRY_AGAIN_S = 0.2
# So that one node is well below the megabyte that ZooKeeper takes, also with the longest of topic names.
_ANNOUNCED_PER_NODE = 2000

_logger = logs.get("replication")


class IsrChanges:
    """Writes what is proposed, all that is waiting at once; then what was proposed meanwhile."""

    def __init__(self, session: ZkSession, clock: Clock) -> None:
        self.expansions = self.shrinks = self.failures = 0
        self._session = session
        self._clock = clock
        self._proposed: dict[Partition, ProposeIsr] = {}
        self._to_announce: dict[TopicPartition, None] = {}
        self._has_proposals = asyncio.Event()
        self._has_changes = asyncio.Event()

    def on_isr_proposed(self, partition: Partition) -> None:
        leader = partition.leader
        if leader is not None and leader.proposal is not None:
            self._proposed[partition] = leader.proposal
            self._has_proposals.set()

    async def write_proposals(self) -> None:
        """Runs until cancelled."""
        while True:
            await self._has_proposals.wait()
            self._has_proposals.clear()
            proposed, self._proposed = self._proposed, {}
            results = await self._session.pipeline(partial(self._write, *each) for each in proposed.items())
            again = [partition for partition, is_due in zip(proposed, results, strict=True) if is_due]
            if again:
                await asyncio.sleep(_TRY_AGAIN_S)
            for partition in again:
                self.on_isr_proposed(partition)

    async def announce(self) -> None:
        """Runs until cancelled."""
        while True:
            await self._has_changes.wait()
            await asyncio.sleep(_ANNOUNCE_AFTER_S)
            self._has_changes.clear()
            changed, self._to_announce = list(self._to_announce), {}
            for at in range(0, len(changed), _ANNOUNCED_PER_NODE):
                await self._announce(changed[at : at + _ANNOUNCED_PER_NODE])

    async def _write(self, partition: Partition, proposal: ProposeIsr) -> bool:
        """True if it is to be tried again."""
        leader = partition.leader
        if leader is None or leader.proposal is not proposal:
            return False
        before = leader.isr
        state = PartitionState(leader.broker_id, proposal.leader_epoch, proposal.isr, partition.controller_epoch)
        outcome = await self._set(PartitionStateZnode.path(partition.name), state, proposal.expected_partition_epoch)
        now_ms = self._clock.monotonic_ms()
        if isinstance(outcome, KafkaCode):
            changed = leader.on_isr_refused(proposal, outcome, now_ms)
            self._note_failure(partition, proposal, outcome)
        else:
            changed = leader.on_isr_written(proposal, PartitionEpoch(outcome), now_ms)
            self._note_change(partition, before, leader)
        if partition.leader is leader:
            partition.on_changed(changed & ~ISR)
        return bool(changed & ISR)

    async def _set(self, path: str, state: PartitionState, version: int) -> int | KafkaCode:
        """The new version, or why there is none."""
        try:
            return (await self._session.set(path, PartitionStateZnode.encode(state), version)).version
        except BadVersion:
            return await self._compare(path, state)
        except NoNode:
            return KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
        except ZkError:
            return KafkaCode.NETWORK_EXCEPTION

    async def _compare(self, path: str, state: PartitionState) -> int | KafkaCode:
        try:
            node = await self._session.get(path)
            is_written = PartitionStateZnode.decode(node.data) == state
        except NoNode:
            return KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
        except ZkError:
            return KafkaCode.NETWORK_EXCEPTION
        except MalformedZnode:
            is_written = False
        return node.version if is_written else KafkaCode.INVALID_UPDATE_VERSION

    def _note_change(self, partition: Partition, before: tuple[int, ...], leader: PartitionLeader) -> None:
        partition.partition_epoch = leader.partition_epoch
        if len(leader.isr) > len(before):
            self.expansions += 1
        else:
            self.shrinks += 1
        _logger.info(
            "isr changed",
            partition=str(partition.name),
            before=list(before),
            isr=list(leader.isr),
            why="caught up" if len(leader.isr) > len(before) else "lagging",
            epoch=leader.leader_epoch,
        )
        self._to_announce[partition.name] = None
        self._has_changes.set()

    def _note_failure(self, partition: Partition, proposal: ProposeIsr, code: KafkaCode) -> None:
        self.failures += 1
        _logger.warning("isr not changed", partition=str(partition.name), wanted=list(proposal.isr), why=code.name)

    async def _announce(self, changed: list[TopicPartition]) -> None:
        try:
            await self._session.create(IsrChangeZnode.CREATE_PATH, IsrChangeZnode.encode(changed), sequence=True)
        except ZkError:
            # Announced twice does no harm.
            self._to_announce.update(dict.fromkeys(changed))
            self._has_changes.set()
