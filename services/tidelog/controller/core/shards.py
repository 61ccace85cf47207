"""Which coordinator owns which shard: one partition of an internal topic.

Placement is sticky: a shard moves only if its owner is gone or has more than its share. Every change of owner raises the
shard's epoch, and so does a new incarnation of the same owner, since what the old one may still write must be fenced.
"""

from collections.abc import Iterable, Mapping

from tidelog.controller.core import zk_requests as zk
from tidelog.controller.core.effects import What
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Found, Task
from tidelog.kafka.cluster import INTERNAL_TOPICS, ShardOwner
from tidelog.kafka.types import CoordinatorId, TopicName, TopicPartition
from tidelog.zk.operations import Create, SetData
from tidelog.zk.znodes import NO_REGISTRATION, SHARDS, MalformedZnode, ShardAssignment, ShardZnode

NOBODY = -1

Owners = Mapping[TopicPartition, int]


def placed(shards: Iterable[TopicPartition], owners: Owners, coordinators: Iterable[int]) -> dict[TopicPartition, int]:
    """An owner for each shard, such that no coordinator of a topic has two more shards of it than another."""
    coordinators = sorted(coordinators)
    result: dict[TopicPartition, int] = {}
    total = dict.fromkeys(coordinators, 0)
    of_topic: dict[TopicName, list[TopicPartition]] = {}
    for shard in sorted(shards):
        of_topic.setdefault(shard.topic, []).append(shard)
    for each in of_topic.values():
        placement = _placed_in_topic(each, owners, total)
        result.update(placement)
        for owner in placement.values():
            total[owner] = total.get(owner, 0) + 1
    return result


def _placed_in_topic(
    shards: list[TopicPartition], owners: Owners, total: Mapping[int, int]
) -> dict[TopicPartition, int]:
    if not total:
        return dict.fromkeys(shards, NOBODY)
    owned: dict[int, list[TopicPartition]] = {id: [] for id in total}
    homeless: list[TopicPartition] = []
    for shard in shards:
        owned.get(owners.get(shard, NOBODY), homeless).append(shard)

    def load(id: int) -> tuple[int, int, int]:
        return len(owned[id]), total[id], id

    for shard in homeless:
        owned[min(owned, key=load)].append(shard)
    while len(owned[most := max(owned, key=load)]) - len(owned[least := min(owned, key=load)]) > 1:
        owned[least].append(owned[most].pop())
    return {shard: id for id, theirs in owned.items() for shard in theirs}


def load_shards(work: Work) -> Task[None]:
    """What the controllers before decided."""
    shards = _shards(work)
    found = yield from zk.read(map(ShardZnode.path, shards))
    for shard, node in zip(shards, found, strict=True):
        if (owner := _decoded(work, shard, node)) is not None:
            work.context.shards[shard] = owner


def place_where_needed(work: Work) -> Task[None]:
    """Give every shard a live owner, write what changes, and tell everybody."""
    known = work.context.shards
    owners = {shard: owner.coordinator for shard, owner in known.items()}
    changes = {
        shard: _next_owner(work, shard, coordinator)
        for shard, coordinator in placed(_shards(work), owners, work.context.coordinators).items()
        if not _is_held_by(known.get(shard), coordinator, _registration(work, coordinator))
    }
    if not changes:
        return
    yield from _write(work, changes)
    for shard, owner in changes.items():
        work.note(What.SHARD_PLACED, shard, f"coordinator {owner.coordinator} epoch {owner.epoch}")
    known.update(changes)
    work.batch.add_shards(changes.values())
    work.send()


def _is_held_by(owner: ShardOwner | None, coordinator: int, registration: int) -> bool:
    return owner is not None and (owner.coordinator, owner.coordinator_epoch) == (coordinator, registration)


def _shards(work: Work) -> list[TopicPartition]:
    return [shard for topic in sorted(INTERNAL_TOPICS) for shard in work.context.partitions_of(TopicName(topic))]


def _next_owner(work: Work, shard: TopicPartition, coordinator: int) -> ShardOwner:
    known = work.context.shards.get(shard)
    epoch = known.epoch + 1 if known else 0
    return ShardOwner(shard.topic, shard.partition, coordinator, epoch, _registration(work, coordinator))


def _registration(work: Work, coordinator: int) -> int:
    """Which incarnation of the coordinator lives: it may have restarted while there was no controller to see it."""
    member = work.context.coordinators.get(CoordinatorId(coordinator))
    return member.epoch if member else NO_REGISTRATION


def _write(work: Work, changes: Mapping[TopicPartition, ShardOwner]) -> Task[None]:
    new = [shard for shard in changes if shard not in work.context.shards]
    parents = sorted({f"{SHARDS}/{shard.topic}" for shard in new})
    # Nodes may be there although they could not be read: what a creation does not make, the write replaces.
    yield from zk.write(Create(path) for path in parents)
    yield from zk.write(Create(ShardZnode.path(shard)) for shard in new)
    yield from zk.write(SetData(ShardZnode.path(shard), _encoded(owner)) for shard, owner in changes.items())


def _encoded(owner: ShardOwner) -> bytes:
    return ShardZnode.encode(ShardAssignment(CoordinatorId(owner.coordinator), owner.epoch, owner.coordinator_epoch))


def _decoded(work: Work, shard: TopicPartition, node: Found | None) -> ShardOwner | None:
    try:
        stored = ShardZnode.decode(node.data) if node and node.data else None
    except MalformedZnode as error:
        work.note(What.MALFORMED_ZNODE, shard, str(error))
        return None
    if stored is None:
        return None
    return ShardOwner(shard.topic, shard.partition, stored.coordinator, stored.epoch, stored.coordinator_epoch)
