"""Who leads a partition and who is in sync with the leader, as the partition's state znode says."""

from dataclasses import dataclass, replace
from typing import Self

from tidelog.kafka.cluster import NO_LEADER


@dataclass(frozen=True, slots=True)
class Leadership:
    """One version of a state znode; `partition_epoch` is that version, which the next write must expect."""

    leader: int
    isr: tuple[int, ...]
    leader_epoch: int = 0
    controller_epoch: int = 0
    partition_epoch: int = 0
    recovering: bool = False

    def led_by(self, leader: int, isr: tuple[int, ...], *, recovering: bool | None = None) -> Self:
        """What follows an election: the epoch grows also if the leader stays."""
        after = self.recovering if recovering is None else recovering
        return replace(self, leader=leader, isr=isr, leader_epoch=self.leader_epoch + 1, recovering=after)

    def without(self, broker: int) -> Self:
        """What follows when this replica is found offline.

        The last in-sync replica stays in the ISR: only it is known to have every acknowledged record, so that only it
        may lead again, unless an unclean election is allowed.
        """
        leader = NO_LEADER if broker == self.leader else self.leader
        isr = self.isr if len(self.isr) == 1 else tuple(id for id in self.isr if id != broker)
        return self.led_by(leader, isr)

    def written(self, controller_epoch: int, partition_epoch: int) -> Self:
        """The same after it was written by that controller, at that version."""
        return replace(self, controller_epoch=controller_epoch, partition_epoch=partition_epoch)
