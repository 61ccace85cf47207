"""Where the replicas of new partitions go: spread over brokers, and over racks where brokers tell theirs.

The first replicas go round the brokers one by one, beginning at `start`; the others follow at a distance, `shift`, that
grows with each round, so that the load of a dead broker falls on many. With racks the round alternates between racks, and
a rack gets its second replica of a partition only when every rack has one.
"""

from collections.abc import Mapping
from itertools import zip_longest

from tidelog.kafka.errors import KafkaCode, KafkaError

# The replicas of a whole topic are one znode, and ZooKeeper takes one megabyte: some 20 bytes for each partition.
TOPIC_PARTITIONS_MAX = 50_000


def place(
    brokers: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    *,
    start: int,
    shift: int,
    first_partition: int = 0,
) -> dict[int, tuple[int, ...]]:
    """The replicas of partitions `first_partition` and up; `brokers` are the live ones and their racks."""
    if partitions <= 0:
        raise KafkaError(KafkaCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
    if first_partition + partitions > TOPIC_PARTITIONS_MAX:
        message = f"A topic has at most {TOPIC_PARTITIONS_MAX} partitions."
        raise KafkaError(KafkaCode.INVALID_PARTITIONS, message)
    if replication_factor <= 0:
        raise KafkaError(KafkaCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0.")
    if replication_factor > len(brokers):
        message = f"Replication factor: {replication_factor} larger than available brokers: {len(brokers)}."
        raise KafkaError(KafkaCode.INVALID_REPLICATION_FACTOR, message)
    racks = {id: rack for id, rack in brokers.items() if rack is not None}
    # Racks are heeded only if every broker tells its own: a guess would put replicas together that should be apart.
    order = alternate_racks(racks) if len(racks) == len(brokers) else sorted(brokers)
    placed = {}
    for partition in range(first_partition, first_partition + partitions):
        round_shift = shift + _rounds(first_partition, partition, len(order))
        if len(racks) == len(brokers):
            placed[partition] = _across_racks(order, racks, partition + start, round_shift, replication_factor)
        else:
            placed[partition] = _in_a_ring(order, partition + start, round_shift, replication_factor)
    return placed


def alternate_racks(racks: Mapping[int, str]) -> list[int]:
    """All brokers, one of each rack in turn, racks and brokers in order."""
    of_rack: dict[str, list[int]] = {}
    for id, rack in sorted(racks.items()):
        of_rack.setdefault(rack, []).append(id)
    turns = zip_longest(*(of_rack[rack] for rack in sorted(of_rack)))
    return [id for turn in turns for id in turn if id is not None]


def _rounds(first_partition: int, partition: int, brokers: int) -> int:
    """How many rounds over the brokers were completed since the first partition; partition 0 completes none."""
    return partition // brokers - max(first_partition - 1, 0) // brokers


def _follower_at(first: int, shift: int, nth: int, brokers: int) -> int:
    return (first + 1 + (shift + nth) % (brokers - 1)) % brokers


def _in_a_ring(order: list[int], position: int, shift: int, replication_factor: int) -> tuple[int, ...]:
    first = position % len(order)
    followers = (_follower_at(first, shift, nth, len(order)) for nth in range(replication_factor - 1))
    return (order[first], *(order[at] for at in followers))


def _across_racks(
    order: list[int], racks: Mapping[int, str], position: int, shift: int, replication_factor: int
) -> tuple[int, ...]:
    first = position % len(order)
    chosen = [order[first]]
    rack_count, nth = len(set(racks.values())), 0
    while len(chosen) < replication_factor:
        broker = order[_follower_at(first, shift * rack_count, nth, len(order))]
        used_racks = {racks[id] for id in chosen}
        if broker not in chosen and (racks[broker] not in used_racks or len(used_racks) == rack_count):
            chosen.append(broker)
        nth += 1
    return tuple(chosen)
