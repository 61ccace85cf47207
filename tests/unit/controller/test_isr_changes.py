"""ISR changes that leaders write and announce."""

import pytest

from tests.support.controller_driver import ModelCluster, tp
from tests.support.controller_scenes import cluster_of, forget_effects, roles_sent, running
from tidelog.controller.core.effects import Tell, What
from tidelog.zk.operations import Create
from tidelog.zk.znodes import ISR_CHANGES, IsrChangeZnode

T0 = tp("t")


@pytest.fixture
def cluster() -> ModelCluster:
    return cluster_of(1, 2, 3, topics={"t": {0: (1, 2, 3)}})


def test_an_announced_change_is_read_told_and_its_announcement_removed(cluster: ModelCluster) -> None:
    driven = running(cluster)
    forget_effects(driven)
    cluster.write_isr(T0, 1, 3)
    driven.run()
    assert driven.context.leaderships[T0].isr == (1, 3)
    (update,) = [effect.update for effect in driven.effects if isinstance(effect, Tell)]
    view = update.topics[0].partitions[0]
    assert (view.isr, view.leader_epoch, view.partition_epoch) == ((1, 3), 0, 1)
    assert roles_sent(driven, T0) == [], "the leader knows already"
    assert cluster.zk.children(ISR_CHANGES) == ()
    assert len(driven.notes(What.ISR_CHANGED)) == 1


def test_announcements_of_strangers_and_nonsense_are_removed(cluster: ModelCluster) -> None:
    driven = running(cluster)
    for data in (IsrChangeZnode.encode([tp("no"), tp("t", 8)]), b"?"):
        cluster.zk.multi([Create(IsrChangeZnode.CREATE_PATH, data, sequence=True)])
    driven.run()
    assert cluster.zk.children(ISR_CHANGES) == ()


def test_announcements_from_before_the_failover_are_dropped_since_everything_is_read(cluster: ModelCluster) -> None:
    running(cluster)
    cluster.write_isr(T0, 1)
    second = running(cluster, 1)
    assert cluster.zk.children(ISR_CHANGES) == ()
    assert second.context.leaderships[T0].isr == (1,)
