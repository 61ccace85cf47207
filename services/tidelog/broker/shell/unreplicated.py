"""Replication where there is none: every partition has one replica, which leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.runtime import logs

if TYPE_CHECKING:
    from tidelog.broker.shell.partition import Partition

_logger = logs.get("replication")


class Unreplicated:
    """Says so where a partition would have to be copied, or its in-sync set changed."""

    def on_follows(self, partition: Partition) -> None:
        _logger.warning("nothing is copied", partition=str(partition.name), leader=partition.leader_id)

    def on_stops(self, partition: Partition) -> None:
        """There is nothing to stop."""

    def on_isr_proposed(self, partition: Partition) -> None:
        _logger.warning("in-sync set stays as it is", partition=str(partition.name))
