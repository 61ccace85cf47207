"""The requests that wait for something to happen to a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.core.partition_leader import HIGH_WATERMARK, LOW_WATERMARK
from tidelog.broker.core.purgatory import Purgatory
from tidelog.broker.core.wheel import WheelTimers

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.shell.partition import Partition
    from tidelog.runtime.clock import Clock
    from tidelog.runtime.timers import Timers

# Completed delete-records are swept away at once: they are few and hold long lists.
_DELETE_RECORDS_PURGE_INTERVAL = 1


class Waiting:
    """One purgatory for each kind of request that can wait, all on one timing wheel."""

    def __init__(self, timers: Timers, clock: Clock, call_soon: Callable[[Callable[[], None]], object]) -> None:
        wheel = WheelTimers(timers, clock.monotonic_ms)
        self.produce: Purgatory[Partition] = Purgatory(wheel, call_soon)
        self.fetch: Purgatory[Partition] = Purgatory(wheel, call_soon)
        self.delete_records: Purgatory[Partition] = Purgatory(wheel, call_soon, _DELETE_RECORDS_PURGE_INTERVAL)

    def on_changed(self, partition: Partition, changed: int) -> None:
        """The leader of a partition says what changed; see partition_leader.py."""
        if changed & HIGH_WATERMARK:
            # After every write: where nobody waits at all, nobody is looked for.
            if self.produce.pending:
                self.produce.wake(partition)
            if self.fetch.pending:
                self.fetch.wake(partition)
            if self.delete_records.pending:
                self.delete_records.wake(partition)
        elif changed & LOW_WATERMARK:
            self.delete_records.wake(partition)

    def on_role_changed(self, partition: Partition) -> None:
        """Nothing is as it was: whoever waits for this partition gets an answer or looks anew."""
        self.produce.wake(partition)
        self.fetch.wake(partition)
        self.delete_records.wake(partition)

    def on_all_changed(self) -> None:
        for purgatory in (self.produce, self.fetch, self.delete_records):
            purgatory.wake_all()
