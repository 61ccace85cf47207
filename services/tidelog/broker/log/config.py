"""What a log needs to know of its topic's configuration."""

from dataclasses import dataclass, field

from tidelog.kafka.records.produced import ProduceRules

FOREVER = 2**63 - 1
WEEK_MS = 7 * 24 * 3600 * 1000
DAY_MS = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class LogConfig:
    """The settings of one log, under the names of the topic settings they come from. -1 is no limit for retention."""

    segment_bytes: int = 1024**3
    segment_ms: int = WEEK_MS
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 * 1024**2
    index_interval_bytes: int = 4096
    flush_messages: int = FOREVER
    flush_ms: int = FOREVER
    retention_bytes: int = -1
    retention_ms: int = WEEK_MS
    file_delete_delay_ms: int = 60_000
    delete: bool = True
    compact: bool = False
    min_cleanable_dirty_ratio: float = 0.5
    delete_retention_ms: int = DAY_MS
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = FOREVER
    preallocate: bool = False
    producer_id_expiration_ms: int = DAY_MS
    # Ids under which a coordinator marks its ownership of a partition: they are remembered however long they are silent.
    permanent_producer_ids: range = range(0)
    rules: ProduceRules = field(default_factory=ProduceRules)

    @property
    def roll_ms(self) -> int:
        """How old a segment may grow: a compacted log must roll early enough for what is new to be cleaned in time."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compact else self.segment_ms
