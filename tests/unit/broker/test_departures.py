"""A broker that is gone stays listed for a moment, unless it is back."""

from tidelog.broker.shell.departures import LISTED_MS, Departures
from tidelog.kafka.cluster import ClusterView, Member
from tidelog.kafka.types import BrokerEpoch
from tidelog.runtime.clock import ManualClock
from tidelog.runtime.timers import ManualTimers


def members(*epochs: int) -> dict[int, Member]:
    """Brokers whose id is their epoch's last digit."""
    return {epoch % 10: Member(epoch % 10, BrokerEpoch(epoch), ()) for epoch in epochs}


class Cluster:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.view = ClusterView(brokers=members(11, 12, 13))
        self.departures = Departures(self.view, frozenset, ManualTimers(self.clock))

    def changes_to(self, *epochs: int) -> None:
        before, self.view.brokers = self.view.brokers, members(*epochs)
        self.departures.on_update(before)

    @property
    def listed(self) -> list[int]:
        return [member.epoch for member in self.departures.still_listed]


def test_who_is_gone_is_listed_for_a_while() -> None:
    cluster = Cluster()
    cluster.changes_to(12, 13)
    cluster.clock.advance(LISTED_MS / 2)
    cluster.changes_to(12)
    assert cluster.listed == [11, 13]
    cluster.clock.advance(LISTED_MS / 2)
    assert cluster.listed == [13]
    cluster.clock.advance(LISTED_MS / 2)
    assert cluster.listed == []


def test_who_is_back_is_not_listed_twice() -> None:
    cluster = Cluster()
    cluster.changes_to(12, 13)
    cluster.changes_to(21, 12, 13)
    assert cluster.listed == []


def test_who_leaves_again_is_listed_from_then_on() -> None:
    cluster = Cluster()
    cluster.changes_to(12, 13)
    cluster.clock.advance(LISTED_MS / 2)
    cluster.changes_to(21, 12, 13)
    cluster.changes_to(12, 13)
    cluster.clock.advance(LISTED_MS / 2)
    assert cluster.listed == [21]
