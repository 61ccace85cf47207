"""A partition that broker 1 leads, without a disk: what its rules say is all there is."""

from tests.support.leader_log import OffsetsOnly
from tidelog.broker.core.partition_leader import (
    LOW_WATERMARK,
    LeaderState,
    PartitionLeader,
    ProposeIsr,
)
from tidelog.kafka.types import BrokerId, LeaderEpoch, PartitionEpoch

ME, TWO, THREE = BrokerId(1), BrokerId(2), BrokerId(3)
ALL = (ME, TWO, THREE)
LAG_MS = 30_000


class Led:
    """A partition led by broker 1, and its log."""

    def __init__(
        self,
        isr: tuple[BrokerId, ...] = ALL,
        *,
        replicas: tuple[BrokerId, ...] = ALL,
        min_isr: int = 1,
        end: int = 0,
        high_watermark: int = 0,
        now_ms: float = 0,
    ) -> None:
        self.log = OffsetsOnly(end, high_watermark)
        self.live = set(replicas)
        self.leader = PartitionLeader(
            ME,
            LeaderState(LeaderEpoch(5), replicas, isr, PartitionEpoch(7)),
            self.log,
            self.live,
            min_insync_replicas=min_isr,
            replica_lag_time_max_ms=LAG_MS,
            now_ms=now_ms,
        )

    def append(self, count: int = 1, now_ms: float = 0) -> int:
        self.log.log_end_offset += count
        return self.leader.on_appended(now_ms)

    def fetch(self, broker_id: BrokerId, offset: int, now_ms: float = 0, log_start: int = 0) -> int:
        """The bits that changed; the log start is known from before unless it is what is tested."""
        return self.leader.on_follower_fetched(broker_id, offset, log_start, now_ms) & ~LOW_WATERMARK

    def proposal(self) -> ProposeIsr:
        assert self.leader.proposal is not None
        return self.leader.proposal

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark
