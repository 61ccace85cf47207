"""Brokers that died a moment ago, and what clients are told of them until the dust has settled.

Two things hold up a client whose leader died, although the next one leads within a tenth of a second. It asks who leads at
once, before the controller knows of the death; told of the old leader it believes that, and may ask again a second later.
So a leader that closed its connections and refuses new ones is no leader any more. And a client that learns in one answer
that a partition has moved and that its old broker is gone may lose its place for a second, as librdkafka does. So the
broker stays in the list of brokers for a while, as it does in Kafka until its session ends.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from tidelog.kafka.cluster import ClusterView, Member
    from tidelog.runtime.timers import Timers

LISTED_MS = 1_500


class Departures:
    """Hears of every change of the view."""

    def __init__(self, view: ClusterView, lost_leaders: Callable[[], Collection[int]], timers: Timers) -> None:
        """`lost_leaders` gives the brokers whose listeners are known to be closed."""
        self.lost_leaders = lost_leaders
        self._view = view
        self._timers = timers
        self._departed: dict[int, Member] = {}

    @property
    def still_listed(self) -> list[Member]:
        """Brokers that are gone, but not yet for clients."""
        return [member for id, member in self._departed.items() if id not in self._view.brokers]

    def on_update(self, before: Mapping[int, Member]) -> None:
        """The view has changed; these brokers were there before."""
        gone = {id: member for id, member in before.items() if id not in self._view.brokers}
        if gone:
            self._departed |= gone
            self._timers.after(LISTED_MS, partial(self._forget, gone))

    def _forget(self, gone: Mapping[int, Member]) -> None:
        for id, member in gone.items():
            if self._departed.get(id) is member:
                del self._departed[id]
