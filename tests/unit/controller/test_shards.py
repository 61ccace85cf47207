"""Coordinator shards: sticky, balanced, with an epoch for every change of owner."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.support.controller_driver import Driven, ModelCluster, tp
from tests.support.controller_scenes import cluster_of, forget_effects, running
from tidelog.controller.core.effects import Tell, TellOne
from tidelog.controller.core.shards import NOBODY, placed
from tidelog.kafka.cluster import ShardOwner
from tidelog.zk.znodes import ShardZnode

OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
ALL = [*(tp(OFFSETS, index) for index in range(7)), *(tp(TRANSACTIONS, index) for index in range(4))]


@given(
    st.dictionaries(st.sampled_from(ALL), st.integers(0, 5)), st.sets(st.integers(0, 5)), st.sets(st.sampled_from(ALL))
)
def test_placement_is_complete_balanced_and_sticky(
    owners: dict[object, int], coordinators: set[int], shards: set[object]
) -> None:
    placement = placed(shards, owners, coordinators)  # type: ignore[arg-type]
    assert placement.keys() == shards
    if not coordinators:
        assert set(placement.values()) <= {NOBODY}
        return
    for topic in (OFFSETS, TRANSACTIONS):
        counts = Counter(owner for shard, owner in placement.items() if shard.topic == topic)
        assert max(counts.values(), default=0) - min(counts.get(id, 0) for id in coordinators) <= 1
    assert placed(shards, placement, coordinators) == placement, "what is placed well stays"  # type: ignore[arg-type]


def test_a_death_moves_only_the_shards_of_the_dead() -> None:
    before = placed(ALL, {}, [0, 1, 2])
    after = placed(ALL, before, [0, 2])
    assert {shard for shard in ALL if after[shard] != before[shard]} == {s for s in ALL if before[s] == 1}


def test_a_newcomer_gets_its_share_and_nothing_else_moves() -> None:
    before = placed(ALL, {}, [0, 1])
    after = placed(ALL, before, [0, 1, 2])
    moved = {shard for shard in ALL if after[shard] != before[shard]}
    assert moved == {shard for shard in ALL if after[shard] == 2}
    assert len(moved) == 3


def scene() -> ModelCluster:
    cluster = cluster_of(1, topics={OFFSETS: dict.fromkeys(range(4), (1,)), "other": {0: (1,)}})
    cluster.start_coordinator(0)
    cluster.start_coordinator(1)
    return cluster


def owners(driven: Driven) -> dict[int, tuple[int, int]]:
    return {shard.partition: (owner.coordinator, owner.epoch) for shard, owner in sorted(driven.context.shards.items())}


def test_shards_are_written_and_told() -> None:
    cluster = scene()
    driven = running(cluster)
    assert owners(driven) == {0: (0, 0), 1: (1, 0), 2: (0, 0), 3: (1, 0)}
    node = cluster.zk.get(ShardZnode.path(tp(OFFSETS, 1)))
    assert node is not None
    assert (ShardZnode.decode(node.data).coordinator, ShardZnode.decode(node.data).epoch) == (1, 0)
    told = [shard for effect in driven.effects if isinstance(effect, Tell) for shard in effect.update.shards]
    assert ShardOwner(OFFSETS, 1, 1, 0) in told


def test_the_shards_of_a_dead_coordinator_go_on_elsewhere_with_a_higher_epoch() -> None:
    cluster = scene()
    driven = running(cluster)
    cluster.kill_coordinator(1)
    driven.run()
    assert owners(driven) == {0: (0, 0), 1: (0, 1), 2: (0, 0), 3: (0, 1)}
    cluster.kill_coordinator(0)
    driven.run()
    assert owners(driven) == {index: (NOBODY, 1 + index % 2) for index in range(4)}
    cluster.start_coordinator(0)
    driven.run()
    assert owners(driven) == {index: (0, 2 + index % 2) for index in range(4)}


def test_a_restarted_coordinator_keeps_its_shards_with_a_higher_epoch() -> None:
    cluster = scene()
    driven = running(cluster)
    forget_effects(driven)
    cluster.zk.ensure("/anything")
    cluster.start_coordinator(1)
    driven.run()
    assert owners(driven) == {0: (0, 0), 1: (1, 1), 2: (0, 0), 3: (1, 1)}
    (first,) = [effect for effect in driven.effects if isinstance(effect, TellOne)]
    assert (first.id, first.update.topics_complete) == (1, True)


def test_new_shards_of_a_grown_topic_are_placed() -> None:
    cluster = scene()
    driven = running(cluster)
    cluster.write_topic(OFFSETS, dict.fromkeys(range(6), (1,)))
    driven.run()
    assert Counter(owner for owner, _ in owners(driven).values()) == {0: 3, 1: 3}


def test_the_next_controller_leaves_shards_where_they_are() -> None:
    cluster = scene()
    first = running(cluster)
    cluster.kill_coordinator(0)
    first.run()
    cluster.start_coordinator(0)
    first.run()
    before = owners(first)
    assert owners(running(cluster, 1)) == before
