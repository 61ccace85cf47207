"""Settings of a broker's logs: where they are, how they roll, how long they are kept, when they are flushed."""

from dataclasses import dataclass
from typing import ClassVar

from tidelog.kafka.configs.checks import Check, all_of, at_least, between, one_of
from tidelog.kafka.configs.kinds import BOOLEAN, CSV, INT, LIST, LONG, STRING
from tidelog.kafka.configs.setting import CLUSTER_WIDE, HIGH, LOW, Rule, setting

MS_PER_MINUTE = 60_000
MS_PER_HOUR = 3_600_000

COMPRESSION_TYPES = one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
GZIP_LEVELS = Check(lambda level: level == -1 or 1 <= level <= 9, "between 1 and 9, or -1")


def retention_time_ms(ms: int | None, minutes: int | None, hours: int) -> int:
    """The finest unit that is set wins; every negative time is unlimited, which is -1."""
    if ms is None:
        ms = hours * MS_PER_HOUR if minutes is None else minutes * MS_PER_MINUTE
    return max(ms, -1)


def _no_retention(ms: int | None, minutes: int | None, hours: int) -> str:
    return (
        "" if retention_time_ms(ms, minutes, hours) else "keeps nothing: the retention time must be -1 or at least 1 ms"
    )


def _no_directory(directories: tuple[str, ...] | None, directory: str | None) -> str:
    if not directories and not directory:
        return "is required, or log.dir, and neither was given"
    return "has an empty directory" if "" in (directories or ()) else ""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class LogSettings:
    """The defaults of every topic's log, and the care of the log directories."""

    __slots__ = ()

    log_dirs: tuple[str, ...] | None = setting(
        "log.dirs",
        CSV,
        None,
        doc="The directories of the logs, separated by commas; wins over log.dir.",
        importance=HIGH,
    )
    log_dir: str | None = setting(
        "log.dir", STRING, None, doc="The directory of the logs, where there is only one.", importance=HIGH
    )
    num_recovery_threads_per_data_dir: int = setting(
        "num.recovery.threads.per.data.dir",
        INT,
        1,
        at_least(1),
        "Threads a directory that check logs after an unclean stop.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    log_segment_bytes: int = setting(
        "log.segment.bytes",
        INT,
        1073741824,
        at_least(14),
        "The largest log segment.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    log_roll_ms: int | None = setting(
        "log.roll.ms",
        LONG,
        None,
        at_least(1),
        "A segment older than this is closed and a new one begun; wins over log.roll.hours.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    log_roll_hours: int = setting(
        "log.roll.hours",
        INT,
        168,
        at_least(1),
        "A segment older than this is closed and a new one begun.",
        importance=HIGH,
    )
    log_roll_jitter_ms: int | None = setting(
        "log.roll.jitter.ms",
        LONG,
        None,
        at_least(0),
        "The most that is taken at random from log.roll.ms; wins over log.roll.jitter.hours.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    log_roll_jitter_hours: int = setting(
        "log.roll.jitter.hours",
        INT,
        0,
        at_least(0),
        "The most that is taken at random from log.roll.hours.",
        importance=HIGH,
    )
    log_retention_ms: int | None = setting(
        "log.retention.ms",
        LONG,
        None,
        doc="Segments older than this are deleted, -1 for never; wins over log.retention.minutes.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    log_retention_minutes: int | None = setting(
        "log.retention.minutes",
        INT,
        None,
        doc="Segments older than this are deleted; wins over log.retention.hours.",
        importance=HIGH,
    )
    log_retention_hours: int = setting(
        "log.retention.hours", INT, 168, doc="Segments older than this are deleted.", importance=HIGH
    )
    log_retention_bytes: int = setting(
        "log.retention.bytes",
        LONG,
        -1,
        doc="The oldest segments of a log above this size are deleted; -1 for no bound.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    log_retention_check_interval_ms: int = setting(
        "log.retention.check.interval.ms",
        LONG,
        300000,
        at_least(1),
        "How often the broker looks for segments to delete.",
    )
    log_cleanup_policy: tuple[str, ...] = setting(
        "log.cleanup.policy",
        LIST,
        ("delete",),
        all_of("compact", "delete"),
        "Whether old segments are deleted, compacted, or both.",
        update=CLUSTER_WIDE,
    )
    log_index_size_max_bytes: int = setting(
        "log.index.size.max.bytes", INT, 10485760, at_least(4), "The largest index of a segment.", update=CLUSTER_WIDE
    )
    log_index_interval_bytes: int = setting(
        "log.index.interval.bytes",
        INT,
        4096,
        at_least(0),
        "An index has about one entry for this many bytes of log.",
        update=CLUSTER_WIDE,
    )
    log_segment_delete_delay_ms: int = setting(
        "log.segment.delete.delay.ms",
        LONG,
        60000,
        at_least(0),
        "How long a deleted segment's files stay on disk.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    log_flush_interval_messages: int = setting(
        "log.flush.interval.messages",
        LONG,
        (1 << 63) - 1,
        at_least(1),
        "After how many records a log is forced to disk.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    log_flush_interval_ms: int | None = setting(
        "log.flush.interval.ms",
        LONG,
        None,
        doc="After how long a log is forced to disk; without it, log.flush.scheduler.interval.ms.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    log_flush_scheduler_interval_ms: int = setting(
        "log.flush.scheduler.interval.ms",
        LONG,
        (1 << 63) - 1,
        doc="How often the broker looks for logs to force to disk.",
        importance=HIGH,
    )
    log_flush_offset_checkpoint_interval_ms: int = setting(
        "log.flush.offset.checkpoint.interval.ms",
        INT,
        60000,
        at_least(0),
        "How often the offsets up to which logs are on disk are written down.",
        importance=HIGH,
    )
    log_flush_start_offset_checkpoint_interval_ms: int = setting(
        "log.flush.start.offset.checkpoint.interval.ms",
        INT,
        60000,
        at_least(0),
        "How often the offsets at which logs begin are written down.",
        importance=HIGH,
    )
    log_preallocate: bool = setting(
        "log.preallocate",
        BOOLEAN,
        default=False,
        doc="Whether a new segment's file is made at its full size.",
        update=CLUSTER_WIDE,
    )
    log_initial_task_delay_ms: int = setting(
        "log.initial.task.delay.ms",
        LONG,
        30000,
        at_least(0),
        "How long after the start the first retention and flush checks run.",
        importance=LOW,
    )
    log_message_timestamp_type: str = setting(
        "log.message.timestamp.type",
        STRING,
        "CreateTime",
        one_of("CreateTime", "LogAppendTime"),
        "Whether records keep the producer's time or get the broker's.",
        update=CLUSTER_WIDE,
    )
    log_message_timestamp_difference_max_ms: int = setting(
        "log.message.timestamp.difference.max.ms",
        LONG,
        (1 << 63) - 1,
        at_least(0),
        "How far a record's time may be from the broker's; replaced by the two below.",
        update=CLUSTER_WIDE,
    )
    log_message_timestamp_before_max_ms: int = setting(
        "log.message.timestamp.before.max.ms",
        LONG,
        (1 << 63) - 1,
        at_least(0),
        "How far a record's time may lie before the broker's.",
        update=CLUSTER_WIDE,
    )
    log_message_timestamp_after_max_ms: int = setting(
        "log.message.timestamp.after.max.ms",
        LONG,
        (1 << 63) - 1,
        at_least(0),
        "How far a record's time may lie after the broker's.",
        update=CLUSTER_WIDE,
    )
    log_message_format_version: str = setting(
        "log.message.format.version",
        STRING,
        "3.0-IV1",
        doc="The old message formats' setting; record batches are always of version 2.",
    )
    log_message_downconversion_enable: bool = setting(
        "log.message.downconversion.enable",
        BOOLEAN,
        default=True,
        doc="Kafka's conversion for clients older than 0.11; accepted, and no such client is served.",
        importance=LOW,
        update=CLUSTER_WIDE,
    )
    message_max_bytes: int = setting(
        "message.max.bytes",
        INT,
        1048588,
        at_least(0),
        "The largest record batch.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    compression_type: str = setting(
        "compression.type",
        STRING,
        "producer",
        COMPRESSION_TYPES,
        "How batches are compressed on disk; producer leaves them as they came.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    compression_gzip_level: int = setting(
        "compression.gzip.level",
        INT,
        -1,
        GZIP_LEVELS,
        "The level of gzip, where the broker compresses; -1 for gzip's own default.",
        update=CLUSTER_WIDE,
    )
    compression_lz4_level: int = setting(
        "compression.lz4.level",
        INT,
        9,
        between(1, 17),
        "The level of lz4, where the broker compresses.",
        update=CLUSTER_WIDE,
    )
    compression_zstd_level: int = setting(
        "compression.zstd.level",
        INT,
        3,
        between(-131072, 22),
        "The level of zstd, where the broker compresses.",
        update=CLUSTER_WIDE,
    )
    log_local_retention_ms: int = setting(
        "log.local.retention.ms",
        LONG,
        -2,
        at_least(-2),
        "Kafka's local retention of tiered topics; accepted, and no topic is tiered.",
        update=CLUSTER_WIDE,
    )
    log_local_retention_bytes: int = setting(
        "log.local.retention.bytes",
        LONG,
        -2,
        at_least(-2),
        "Kafka's local retention of tiered topics; accepted, and no topic is tiered.",
        update=CLUSTER_WIDE,
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("log.dirs", "log.dir"), _no_directory),
        Rule(("log.retention.ms", "log.retention.minutes", "log.retention.hours"), _no_retention),
    )

    @property
    def log_directories(self) -> tuple[str, ...]:
        """The directories of the logs."""
        return self.log_dirs or (self.log_dir or "",)

    @property
    def log_retention_time_ms(self) -> int:
        """How long segments are kept: milliseconds win over minutes over hours; -1 for ever."""
        return retention_time_ms(self.log_retention_ms, self.log_retention_minutes, self.log_retention_hours)

    @property
    def log_roll_time_ms(self) -> int:
        return self.log_roll_hours * MS_PER_HOUR if self.log_roll_ms is None else self.log_roll_ms

    @property
    def log_roll_jitter_time_ms(self) -> int:
        return self.log_roll_jitter_hours * MS_PER_HOUR if self.log_roll_jitter_ms is None else self.log_roll_jitter_ms

    @property
    def log_flush_time_ms(self) -> int:
        return (
            self.log_flush_scheduler_interval_ms if self.log_flush_interval_ms is None else self.log_flush_interval_ms
        )
