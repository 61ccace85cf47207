"""Settings of log compaction."""

from dataclasses import dataclass
from typing import ClassVar

from tidelog.kafka.configs.checks import at_least, between
from tidelog.kafka.configs.kinds import BOOLEAN, DOUBLE, INT, LONG
from tidelog.kafka.configs.setting import CLUSTER_WIDE, Rule, setting

_BUFFER_OF_A_CLEANER = 1024 * 1024


def _cleaner_starved(buffer: int, threads: int) -> str:
    return "" if buffer > threads * _BUFFER_OF_A_CLEANER else f"leaves each of {threads} cleaners 1 MiB or less"


def _lag_reversed(low_ms: int, high_ms: int) -> str:
    return f"is above log.cleaner.max.compaction.lag.ms={high_ms}" if low_ms > high_ms else ""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class CleanerSettings:
    """How eagerly the cleaner compacts, and what it may use for it."""

    __slots__ = ()

    log_cleaner_enable: bool = setting(
        "log.cleaner.enable", BOOLEAN, default=True, doc="Whether compacted topics are compacted."
    )
    log_cleaner_threads: int = setting(
        "log.cleaner.threads", INT, 1, at_least(0), "How many logs are compacted at once.", update=CLUSTER_WIDE
    )
    log_cleaner_dedupe_buffer_size: int = setting(
        "log.cleaner.dedupe.buffer.size",
        LONG,
        134217728,
        doc="The memory of all cleaners together for the keys they have seen.",
        update=CLUSTER_WIDE,
    )
    log_cleaner_io_buffer_size: int = setting(
        "log.cleaner.io.buffer.size",
        INT,
        524288,
        at_least(0),
        "The memory of all cleaners together for reading and writing.",
        update=CLUSTER_WIDE,
    )
    log_cleaner_io_buffer_load_factor: float = setting(
        "log.cleaner.io.buffer.load.factor",
        DOUBLE,
        0.9,
        doc="How full the memory for keys may become.",
        update=CLUSTER_WIDE,
    )
    log_cleaner_io_max_bytes_per_second: float = setting(
        "log.cleaner.io.max.bytes.per.second",
        DOUBLE,
        1.7976931348623157e308,
        doc="How much all cleaners together may read and write a second.",
        update=CLUSTER_WIDE,
    )
    log_cleaner_backoff_ms: int = setting(
        "log.cleaner.backoff.ms",
        LONG,
        15000,
        at_least(0),
        "How long a cleaner sleeps when there is nothing to compact.",
        update=CLUSTER_WIDE,
    )
    log_cleaner_min_cleanable_ratio: float = setting(
        "log.cleaner.min.cleanable.ratio",
        DOUBLE,
        0.5,
        between(0, 1),
        "A log is compacted once this share of it is not compacted yet.",
        update=CLUSTER_WIDE,
    )
    log_cleaner_delete_retention_ms: int = setting(
        "log.cleaner.delete.retention.ms",
        LONG,
        86400000,
        at_least(0),
        "How long tombstones stay, so that a reader sees the deletions.",
        update=CLUSTER_WIDE,
    )
    log_cleaner_min_compaction_lag_ms: int = setting(
        "log.cleaner.min.compaction.lag.ms",
        LONG,
        0,
        at_least(0),
        "Records younger than this are not compacted.",
        update=CLUSTER_WIDE,
    )
    log_cleaner_max_compaction_lag_ms: int = setting(
        "log.cleaner.max.compaction.lag.ms",
        LONG,
        (1 << 63) - 1,
        at_least(1),
        "Records older than this are compacted soon, whatever the share.",
        update=CLUSTER_WIDE,
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("log.cleaner.dedupe.buffer.size", "log.cleaner.threads"), _cleaner_starved),
        Rule(("log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"), _lag_reversed),
    )
