"""What must hold after every event, checked on the logs and the state that are really there.

    LEADER      one broker leads a partition in one leader epoch, and a replica's leader epoch only grows
    HW          a leader's high watermark never falls, and never passes the end of a member of the in-sync set
    AGREEMENT   what is below a high watermark anywhere is the same everywhere, for ever
    ACKED       what was acknowledged with acks=all is committed, and every member of the in-sync set has it
    ZOMBIE      what a coordinator appends under a lower fence than its successor's is never committed behind it
    CONTROLLER  only the controller of the newest epoch writes, and no broker listens to an older one again

A broker whose machine lost its power has lost what was not synced, and is excused until it has left the in-sync set. If
all members of an in-sync set lost their power, the partition may lose what was acknowledged, and from then on only its
recovery is checked.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from tests.support.sim.ensemble import Commit
from tidelog.broker.log.reading import Isolation, fetch
from tidelog.kafka.records.header import whole_batches
from tidelog.kafka.types import TopicPartition
from tidelog.zk.znodes import ControllerEpochZnode, PartitionState, PartitionStateZnode

if TYPE_CHECKING:
    from tests.support.sim.world import BrokerHost, World


class Batch(NamedTuple):
    """One batch of a log, known by what no two different ones share."""

    base_offset: int
    next_offset: int
    epoch: int
    crc: int


class Replica:
    """What is known of one broker's copy of one partition: what its log holds, also while the broker is away."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.log: Any = None
        self.truncations = 0
        self.high_watermark = 0
        self.leader_epoch = -1
        self.leads: Any = None
        self.is_excused = False
        # So many batches from the start are known to be what is committed.
        self.agreed = 0

    @property
    def end_offset(self) -> int:
        return self.batches[-1].next_offset if self.batches else 0

    def read(self) -> int:
        """Take in what the log holds more than before, or anew after a truncation; gives how many batches stayed."""
        log = self.log
        kept = len(self.batches)
        if log.truncations != self.truncations or log.log_end_offset < self.end_offset:
            self.truncations = log.truncations
            kept = 0
        found = _batches(log, self.batches[kept - 1].next_offset if kept else 0)
        if kept == 0:
            kept = _common(self.batches, found)
            self.batches = found
            self.agreed = min(self.agreed, kept)
        else:
            self.batches += found
        return kept


class Committed:
    """The one history of a partition: batches that were below a leader's high watermark once."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.by_offset: dict[int, Batch] = {}
        # The highest fence of a coordinator under which anything was committed.
        self.fence = -1
        # All who had to have it lost their power.
        self.is_lost = False

    @property
    def end_offset(self) -> int:
        return self.batches[-1].next_offset if self.batches else 0

    def add(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.by_offset[batch.base_offset] = batch


class Invariants:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._replicas: dict[tuple[str, TopicPartition], Replica] = {}
        self._committed = {partition: Committed() for partition in world.partitions}
        self._leaders: dict[tuple[TopicPartition, int], int] = {}
        self._states: dict[TopicPartition, PartitionState] = {}
        self._heard_epochs: dict[str, int] = {}
        self._fences: dict[tuple[TopicPartition, int, int], int] = {}
        self.acked = 0
        world.ensemble.on_commit = self._on_commit

    # ---- events

    def on_broker_turn(self, host: "BrokerHost") -> None:
        data = host.data
        if data is None:
            return
        self._check_controller_epoch(host, data)
        for partition in data.partitions.by_name.values():
            replica = self._replica(host, partition.name)
            log = partition.log
            if replica.log is not log:
                replica.log, replica.truncations, replica.leader_epoch, replica.leads = log, -1, -1, None
            if (
                log.log_end_offset != replica.end_offset
                or log.high_watermark != replica.high_watermark
                or log.truncations != replica.truncations
                or partition.leader_epoch != replica.leader_epoch
                or partition.leader is not replica.leads
            ):
                self._on_change(host, partition, replica)

    def on_broker_death(self, host: "BrokerHost") -> None:
        self.on_broker_turn(host)
        for (name, _), replica in self._replicas.items():
            if name == host.name:
                replica.log = replica.leads = None

    def on_power_lost(self, host: "BrokerHost") -> None:
        for (name, partition), replica in self._replicas.items():
            state = self._states.get(partition)
            if name == host.name and state is not None and host.id in state.isr:
                replica.is_excused = True
        for partition in self._states:
            self._forget_if_all_lost(partition)

    def on_acked(self, partition: TopicPartition, base_offset: int, crc: int) -> None:
        """A leader told a client that its write is safe."""
        self.acked += 1
        committed = self._committed[partition]
        found = committed.by_offset.get(base_offset)
        if (found is None or found.crc != crc) and not committed.is_lost:
            self._fail("ACKED", f"{partition}: offset {base_offset} was acknowledged, but what is committed is {found}")

    def on_fenced(self, partition: TopicPartition, base_offset: int, crc: int, fence: int) -> None:
        """A coordinator appended a batch."""
        self._fences[partition, base_offset, crc] = fence

    # ---- replicas

    def _on_change(self, host: "BrokerHost", partition: Any, replica: Replica) -> None:
        name, leader = partition.name, partition.leader
        kept = replica.read()
        log = replica.log
        if partition.leader_epoch < replica.leader_epoch:
            self._fail(
                "LEADER", f"{name}: {host.name} went from epoch {replica.leader_epoch} to {partition.leader_epoch}"
            )
        if leader is not None and leader is replica.leads and log.high_watermark < replica.high_watermark:
            self._fail(
                "HW", f"{name}: fell from {replica.high_watermark} to {log.high_watermark} on its leader {host.name}"
            )
        if leader is not replica.leads or partition.leader_epoch != replica.leader_epoch:
            role = "leads" if leader is not None else f"follows {partition.leader_id}"
            self._note(
                host, f"{name} {role} in {partition.leader_epoch}, end {log.log_end_offset} hw {log.high_watermark}"
            )
        self._note(host, f"{name} end {log.log_end_offset} hw {log.high_watermark}")
        if leader is not None:
            self._check_leader(host, name, leader.leader_epoch)
        replica.high_watermark, replica.leader_epoch, replica.leads = log.high_watermark, partition.leader_epoch, leader
        if self._committed[name].is_lost:
            return
        self._check_agreement(host, name, replica)
        if leader is not None:
            self._commit(host, name, replica)
            self._check_isr(name)
        elif kept < len(replica.batches) or replica.end_offset < self._committed[name].end_offset:
            self._check_isr(name)

    def _check_leader(self, host: "BrokerHost", partition: TopicPartition, epoch: int) -> None:
        known = self._leaders.setdefault((partition, epoch), host.id)
        if known != host.id:
            self._fail("LEADER", f"{partition}: both {known} and {host.id} lead in epoch {epoch}")

    def _check_agreement(self, host: "BrokerHost", partition: TopicPartition, replica: Replica) -> None:
        committed = self._committed[partition]
        while replica.agreed < min(len(replica.batches), len(committed.batches)):
            mine, known = replica.batches[replica.agreed], committed.batches[replica.agreed]
            if mine.next_offset > replica.high_watermark:
                return
            if mine != known:
                self._fail(
                    "AGREEMENT", f"{partition}: {host.name} has {mine} below its high watermark, committed is {known}"
                )
                return
            replica.agreed += 1

    def _commit(self, host: "BrokerHost", partition: TopicPartition, replica: Replica) -> None:
        committed = self._committed[partition]
        for batch in replica.batches[len(committed.batches) :]:
            if batch.next_offset > replica.high_watermark:
                break
            committed.add(batch)
            self._check_fence(partition, committed, batch)

    def _check_fence(self, partition: TopicPartition, committed: Committed, batch: Batch) -> None:
        fence = self._fences.get((partition, batch.base_offset, batch.crc))
        if fence is None:
            return
        if fence < committed.fence:
            self._fail("ZOMBIE", f"{partition}: {batch} was appended under fence {fence} after {committed.fence}")
        committed.fence = max(committed.fence, fence)

    # ---- the in-sync set

    def _check_isr(self, partition: TopicPartition) -> None:
        """Every member has everything that is committed, and so nothing of it can be lost by an election."""
        state, committed = self._states.get(partition), self._committed[partition]
        if state is None or not committed.batches or committed.is_lost:
            return
        last = len(committed.batches)
        for id in state.isr:
            replica = self._replicas.get((f"b{id}", partition))
            if replica is None or replica.is_excused:
                continue
            if len(replica.batches) < last or replica.batches[last - 1] != committed.batches[-1]:
                self._fail(
                    "HW",
                    f"{partition}: {committed.end_offset} is committed, and b{id}, which is in the in-sync set {state.isr}"
                    f" of epoch {state.leader_epoch}, ends at {replica.end_offset}"
                    f" and has {replica.batches[-1:]} where {committed.batches[-1]} is",
                )

    def _on_commit(self, commit: Commit) -> None:
        self._check_writer(commit)
        for partition in self._committed:
            path = PartitionStateZnode.path(partition)
            for changed, node in commit.changes:
                if changed == path and node is not None:
                    self._on_state(partition, PartitionStateZnode.decode(node.data))

    def _on_state(self, partition: TopicPartition, state: PartitionState) -> None:
        before = self._states.get(partition)
        self._states[partition] = state
        if state.leader >= 0:
            known = self._leaders.setdefault((partition, state.leader_epoch), state.leader)
            if known != state.leader:
                self._fail(
                    "LEADER", f"{partition}: epoch {state.leader_epoch} was {known}'s and is given to {state.leader}"
                )
        if before is not None and state.leader_epoch < before.leader_epoch:
            self._fail(
                "LEADER", f"{partition}: the epoch in ZooKeeper fell from {before.leader_epoch} to {state.leader_epoch}"
            )
        for (name, of), replica in self._replicas.items():
            if of == partition and int(name[1:]) not in state.isr:
                replica.is_excused = False
        self._forget_if_all_lost(partition)
        self._check_isr(partition)

    def _forget_if_all_lost(self, partition: TopicPartition) -> None:
        state = self._states[partition]
        replicas = [self._replicas.get((f"b{id}", partition)) for id in state.isr]
        is_lost = bool(replicas) and all(replica is not None and replica.is_excused for replica in replicas)
        if is_lost and not self._committed[partition].is_lost:
            self._world.trace.note(
                "!", f"{partition}: all of {state.isr} lost their power; nothing is promised any more"
            )
            self._committed[partition].is_lost = True

    # ---- controllers

    def _check_writer(self, commit: Commit) -> None:
        """What a controller writes, but for elections and its own registration, it writes in the newest epoch."""
        if commit.session is None or not commit.session.owner.startswith("c"):
            return
        if not any(
            path.startswith(("/brokers/topics", "/admin", "/isr_change", "/config")) for path, _ in commit.changes
        ):
            return
        core = commit.session.process.seen["core"]
        node = self._world.ensemble.tree.get(ControllerEpochZnode.PATH)
        newest = -1 if node is None else ControllerEpochZnode.decode(node.data)
        if core.controller_epoch != newest:
            who, paths = commit.session.owner, [path for path, _ in commit.changes]
            self._fail(
                "CONTROLLER", f"{who} writes in epoch {core.controller_epoch}, but the newest is {newest}: {paths}"
            )

    def _check_controller_epoch(self, host: "BrokerHost", data: Any) -> None:
        epoch, key = data.controller_requests._controller_epoch, f"{host.name}-{id(data)}"
        if epoch < self._heard_epochs.get(key, 0):
            self._fail("CONTROLLER", f"{host.name} listens to epoch {epoch} after {self._heard_epochs[key]}")
        self._heard_epochs[key] = epoch

    # ---- the end

    def lacking(self) -> list[str]:
        """What is not as it should be once all faults are over: every replica in sync, with the same log."""
        return [why for partition in self._world.partitions if (why := self._lacking(partition))]

    def _lacking(self, partition: TopicPartition) -> str:
        state = self._states.get(partition)
        if state is None:
            return f"{partition} has no leader"
        copies = {id: self._replicas.get((f"b{id}", partition)) for id in state.isr}
        known = {id: one for id, one in copies.items() if one is not None and one.log is not None}
        ends = {id: (one.end_offset, one.high_watermark, len(one.batches)) for id, one in known.items()}
        is_whole = state.leader >= 0 and len(state.isr) == self._world.replication_factor == len(known)
        if not is_whole or len(set(ends.values())) != 1 or any(end != mark for end, mark, _ in ends.values()):
            return f"{partition}: {state}, ends and high watermarks are {ends}"
        if len({tuple(one.batches) for one in known.values()}) != 1:
            return f"{partition}: the logs differ in the end"
        return ""

    @property
    def lost_partitions(self) -> int:
        return sum(committed.is_lost for committed in self._committed.values())

    def _replica(self, host: "BrokerHost", partition: TopicPartition) -> Replica:
        return self._replicas.setdefault((host.name, partition), Replica())

    def _note(self, host: "BrokerHost", what: str) -> None:
        self._world.trace.note(host.name, what)

    def _fail(self, invariant: str, why: str) -> None:
        self._world.fail(f"{invariant}: {why}")


def _batches(log: Any, offset: int) -> list[Batch]:
    found: list[Batch] = []
    offset = max(offset, log.log_start_offset)
    while offset < log.log_end_offset:
        fetched = fetch(log, offset, 1 << 20, Isolation.LOG_END)
        if fetched.records is None:
            break
        for _, header in whole_batches(fetched.records.read()):
            if header.base_offset >= offset:
                found.append(Batch(header.base_offset, header.next_offset, header.partition_leader_epoch, header.crc))
                offset = header.next_offset
    return found


def _common(mine: list[Batch], others: list[Batch]) -> int:
    count = 0
    for one, other in zip(mine, others, strict=False):
        if one != other:
            break
        count += 1
    return count
