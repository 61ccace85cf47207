"""Bugs to plant, each in the place of what is right: the simulation must find every one of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidelog.broker.core.partition_leader import PartitionLeader
from tidelog.broker.shell.controller_requests import ControllerRequests
from tidelog.broker.shell.isr_changes import IsrChanges
from tidelog.broker.shell.partitions import Partitions
from tidelog.group_coordinator.shell.append_queue import Append, AppendQueue
from tidelog.group_coordinator.shell.doubt import SessionDoubt
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.zk.controller_writer import ControllerWriter
from tidelog.zk.operations import ANY_VERSION


class _TruncatesToHighWatermark(Partitions):
    """As before KIP-101: a follower cuts its log back to its high watermark, and does not tell its last epoch."""

    def _follow(self, partition: Any, state: Any) -> None:
        if state.leader >= 0:
            self._storage.store.truncate(partition.log, partition.log.high_watermark, self._clock.now_ms())
        super()._follow(partition, state)
        if partition.follower is not None:
            partition.follower.last_fetched_epoch = -1


class _BelievesEveryLeaderAndIsr(Partitions):
    def _check_state(self, partition: Any, topic_id: Any, state: Any) -> None:
        partition.log.check_online()


class _HearsEveryController(ControllerRequests):
    def _check_epochs(self, controller_epoch: int, broker_epoch: int) -> None:
        if not self._is_open():
            raise KafkaError(KafkaCode.BROKER_NOT_AVAILABLE)
        self._controller_epoch = controller_epoch


class _WritesWhateverTheVersion(IsrChanges):
    async def _set(self, path: str, state: Any, version: int) -> Any:
        return await super()._set(path, state, ANY_VERSION)


class _DoesNotWaitForWhoJoins(PartitionLeader):
    """Reckons with the in-sync set as it was last written, not with what may have been written meanwhile."""

    __slots__ = ()

    def _advance_high_watermark(self, now_ms: float) -> bool:
        if len(self.isr) < self._effective_min_isr:
            return False
        ends = [one.log_end_offset for one in self._others if one.broker_id in self.isr]
        committed = min([self._log.log_end_offset, *ends])
        if committed <= self._log.high_watermark:
            return False
        self._log.update_high_watermark(committed)
        return True


class _WritesInAnyEpoch(ControllerWriter):
    async def multi(self, ops: Any) -> Any:
        return await self.session.multi(ops)


class _AnswersBeforeItIsWritten(AppendQueue):
    """Reports at once what is only about to be appended."""

    def put(self, append: Append) -> None:
        append.on_committed()
        super().put(replace(append, on_committed=lambda: None, on_failed=lambda _: None))


class _NeverInDoubt(SessionDoubt):
    def is_in_doubt(self) -> bool:
        return False


BUGS: Mapping[str, Mapping[str, object]] = {
    "a follower truncates to its high watermark instead of by epoch": {
        "tidelog.broker.shell.data_path.Partitions": _TruncatesToHighWatermark
    },
    "LeaderAndIsr is believed without a look at the leader epoch": {
        "tidelog.broker.shell.data_path.Partitions": _BelievesEveryLeaderAndIsr
    },
    "LeaderAndIsr is believed without a look at the controller epoch": {
        "tidelog.broker.shell.data_path.ControllerRequests": _HearsEveryController
    },
    "the in-sync set is shrunk without the conditional write": {
        "tidelog.broker.shell.data_path.IsrChanges": _WritesWhateverTheVersion
    },
    "the high watermark is taken over the in-sync set without pending members": {
        "tidelog.broker.shell.partition.PartitionLeader": _DoesNotWaitForWhoJoins
    },
    "a controller writes without the check of its epoch": {
        "tidelog.controller.shell.acting.ControllerWriter": _WritesInAnyEpoch
    },
}

# With groups and transactions in the world.
GROUP_BUGS: Mapping[str, Mapping[str, object]] = {
    "a coordinator answers before its records are written": {
        "tidelog.group_coordinator.shell.shard.AppendQueue": _AnswersBeforeItIsWritten
    },
    "a coordinator of the past is not fenced": {
        "tidelog.broker.shell.partition.check_fence": lambda *_, **__: None,
        "tidelog.group_coordinator.shell.process.SessionDoubt": _NeverInDoubt,
    },
    "transactions that take too long are not aborted": {
        "tidelog.group_coordinator.core.transactions.ageing.abort_timed_out": lambda *_: iter(())
    },
}
