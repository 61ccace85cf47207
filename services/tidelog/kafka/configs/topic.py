"""Settings of a topic: Kafka's names, and the broker settings that each falls back to."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tidelog.kafka.configs.broker_log import COMPRESSION_TYPES, GZIP_LEVELS
from tidelog.kafka.configs.checks import Check, all_of, at_least, between, one_of
from tidelog.kafka.configs.faults import ConfigFaults, Fault
from tidelog.kafka.configs.kinds import BOOLEAN, DOUBLE, INT, LIST, LONG, STRING
from tidelog.kafka.configs.reading import broken_rules
from tidelog.kafka.configs.setting import Rule, Setting, setting, settings_of
from tidelog.kafka.errors import KafkaCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidelog.kafka.configs.broker import BrokerConfig

_UNBOUNDED = (1 << 63) - 1
_THROTTLED = Check(
    lambda replicas: replicas == ("*",) or all(map(re.compile(r"\d+:\d+").fullmatch, replicas)),
    "* or a list of partition:broker",
)


def _lag_reversed(low_ms: int, high_ms: int) -> str:
    return f"is above max.compaction.lag.ms={high_ms}" if low_ms > high_ms else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """The effective settings of one topic."""

    cleanup_policy: tuple[str, ...] = setting(
        "cleanup.policy",
        LIST,
        ("delete",),
        all_of("compact", "delete"),
        "Whether old segments are deleted, compacted, or both.",
        synonyms=("log.cleanup.policy",),
    )
    compression_type: str = setting(
        "compression.type",
        STRING,
        "producer",
        COMPRESSION_TYPES,
        "How batches are compressed on disk; producer leaves them as they came.",
        synonyms=("compression.type",),
    )
    compression_gzip_level: int = setting(
        "compression.gzip.level",
        INT,
        -1,
        GZIP_LEVELS,
        "The level of gzip, where the broker compresses; -1 for gzip's own default.",
        synonyms=("compression.gzip.level",),
    )
    compression_lz4_level: int = setting(
        "compression.lz4.level",
        INT,
        9,
        between(1, 17),
        "The level of lz4, where the broker compresses.",
        synonyms=("compression.lz4.level",),
    )
    compression_zstd_level: int = setting(
        "compression.zstd.level",
        INT,
        3,
        between(-131072, 22),
        "The level of zstd, where the broker compresses.",
        synonyms=("compression.zstd.level",),
    )
    delete_retention_ms: int = setting(
        "delete.retention.ms",
        LONG,
        86400000,
        at_least(0),
        "How long tombstones stay, so that a reader sees the deletions.",
        synonyms=("log.cleaner.delete.retention.ms",),
    )
    file_delete_delay_ms: int = setting(
        "file.delete.delay.ms",
        LONG,
        60000,
        at_least(0),
        "How long a deleted segment's files stay on disk.",
        synonyms=("log.segment.delete.delay.ms",),
    )
    flush_messages: int = setting(
        "flush.messages",
        LONG,
        _UNBOUNDED,
        at_least(1),
        "After how many records the log is forced to disk.",
        synonyms=("log.flush.interval.messages",),
    )
    flush_ms: int = setting(
        "flush.ms",
        LONG,
        _UNBOUNDED,
        at_least(0),
        "After how long the log is forced to disk.",
        synonyms=("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    )
    follower_replication_throttled_replicas: tuple[str, ...] = setting(
        "follower.replication.throttled.replicas",
        LIST,
        (),
        _THROTTLED,
        "The replicas that are throttled while they follow, as partition:broker, or * for all.",
    )
    index_interval_bytes: int = setting(
        "index.interval.bytes",
        INT,
        4096,
        at_least(0),
        "An index has about one entry for this many bytes of log.",
        synonyms=("log.index.interval.bytes",),
    )
    leader_replication_throttled_replicas: tuple[str, ...] = setting(
        "leader.replication.throttled.replicas",
        LIST,
        (),
        _THROTTLED,
        "The replicas that are throttled while they lead, as partition:broker, or * for all.",
    )
    local_retention_bytes: int = setting(
        "local.retention.bytes",
        LONG,
        -2,
        at_least(-2),
        "Kafka's local retention of tiered topics; accepted, and no topic is tiered.",
        synonyms=("log.local.retention.bytes",),
    )
    local_retention_ms: int = setting(
        "local.retention.ms",
        LONG,
        -2,
        at_least(-2),
        "Kafka's local retention of tiered topics; accepted, and no topic is tiered.",
        synonyms=("log.local.retention.ms",),
    )
    max_compaction_lag_ms: int = setting(
        "max.compaction.lag.ms",
        LONG,
        _UNBOUNDED,
        at_least(1),
        "Records older than this are compacted soon, whatever the share.",
        synonyms=("log.cleaner.max.compaction.lag.ms",),
    )
    max_message_bytes: int = setting(
        "max.message.bytes", INT, 1048588, at_least(0), "The largest record batch.", synonyms=("message.max.bytes",)
    )
    message_downconversion_enable: bool = setting(
        "message.downconversion.enable",
        BOOLEAN,
        default=True,
        doc="Kafka's conversion for clients older than 0.11; accepted, and no such client is served.",
        synonyms=("log.message.downconversion.enable",),
    )
    message_format_version: str = setting(
        "message.format.version",
        STRING,
        "3.0-IV1",
        doc="The old message formats' setting; record batches are always of version 2.",
        synonyms=("log.message.format.version",),
    )
    message_timestamp_after_max_ms: int = setting(
        "message.timestamp.after.max.ms",
        LONG,
        _UNBOUNDED,
        at_least(0),
        "How far a record's time may lie after the broker's.",
        synonyms=("log.message.timestamp.after.max.ms",),
    )
    message_timestamp_before_max_ms: int = setting(
        "message.timestamp.before.max.ms",
        LONG,
        _UNBOUNDED,
        at_least(0),
        "How far a record's time may lie before the broker's.",
        synonyms=("log.message.timestamp.before.max.ms",),
    )
    message_timestamp_difference_max_ms: int = setting(
        "message.timestamp.difference.max.ms",
        LONG,
        _UNBOUNDED,
        at_least(0),
        "How far a record's time may be from the broker's; replaced by the two above.",
        synonyms=("log.message.timestamp.difference.max.ms",),
    )
    message_timestamp_type: str = setting(
        "message.timestamp.type",
        STRING,
        "CreateTime",
        one_of("CreateTime", "LogAppendTime"),
        "Whether records keep the producer's time or get the broker's.",
        synonyms=("log.message.timestamp.type",),
    )
    min_cleanable_dirty_ratio: float = setting(
        "min.cleanable.dirty.ratio",
        DOUBLE,
        0.5,
        between(0, 1),
        "The log is compacted once this share of it is not compacted yet.",
        synonyms=("log.cleaner.min.cleanable.ratio",),
    )
    min_compaction_lag_ms: int = setting(
        "min.compaction.lag.ms",
        LONG,
        0,
        at_least(0),
        "Records younger than this are not compacted.",
        synonyms=("log.cleaner.min.compaction.lag.ms",),
    )
    min_insync_replicas: int = setting(
        "min.insync.replicas",
        INT,
        1,
        at_least(1),
        "How many replicas must be in sync for a write with acks=all.",
        synonyms=("min.insync.replicas",),
    )
    preallocate: bool = setting(
        "preallocate",
        BOOLEAN,
        default=False,
        doc="Whether a new segment's file is made at its full size.",
        synonyms=("log.preallocate",),
    )
    remote_log_copy_disable: bool = setting(
        "remote.log.copy.disable",
        BOOLEAN,
        default=False,
        doc="Kafka's switch of tiered storage; accepted, and no topic is tiered.",
    )
    remote_log_delete_on_disable: bool = setting(
        "remote.log.delete.on.disable",
        BOOLEAN,
        default=False,
        doc="Kafka's switch of tiered storage; accepted, and no topic is tiered.",
    )
    remote_storage_enable: bool = setting(
        "remote.storage.enable",
        BOOLEAN,
        default=False,
        check=Check(lambda value: not value, "false, since there is no tiered storage"),
        doc="Whether the topic's segments move to tiered storage, which is not supported.",
    )
    retention_bytes: int = setting(
        "retention.bytes",
        LONG,
        -1,
        doc="The oldest segments of a partition above this size are deleted; -1 for no bound.",
        synonyms=("log.retention.bytes",),
    )
    retention_ms: int = setting(
        "retention.ms",
        LONG,
        604800000,
        at_least(-1),
        "Segments older than this are deleted; -1 for never.",
        synonyms=("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    )
    segment_bytes: int = setting(
        "segment.bytes", INT, 1073741824, at_least(14), "The largest log segment.", synonyms=("log.segment.bytes",)
    )
    segment_index_bytes: int = setting(
        "segment.index.bytes",
        INT,
        10485760,
        at_least(4),
        "The largest index of a segment.",
        synonyms=("log.index.size.max.bytes",),
    )
    segment_jitter_ms: int = setting(
        "segment.jitter.ms",
        LONG,
        0,
        at_least(0),
        "The most that is taken at random from segment.ms.",
        synonyms=("log.roll.jitter.ms", "log.roll.jitter.hours"),
    )
    segment_ms: int = setting(
        "segment.ms",
        LONG,
        604800000,
        at_least(1),
        "A segment older than this is closed and a new one begun.",
        synonyms=("log.roll.ms", "log.roll.hours"),
    )
    unclean_leader_election_enable: bool = setting(
        "unclean.leader.election.enable",
        BOOLEAN,
        default=False,
        doc="Whether a replica that was not in sync may lead when no other can, at the price of records.",
        synonyms=("unclean.leader.election.enable",),
    )

    rules: ClassVar[tuple[Rule, ...]] = (Rule(("min.compaction.lag.ms", "max.compaction.lag.ms"), _lag_reversed),)

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def is_deleted(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def timestamp_before_limit_ms(self) -> int:
        """How far a record's time may lie back; the older setting holds where the newer one was left alone."""
        before_ms = self.message_timestamp_before_max_ms
        return self.message_timestamp_difference_max_ms if before_ms == _UNBOUNDED else before_ms

    @property
    def timestamp_after_limit_ms(self) -> int:
        """How far a record's time may lie ahead; the older setting holds where the newer one was left alone."""
        after_ms = self.message_timestamp_after_max_ms
        return self.message_timestamp_difference_max_ms if after_ms == _UNBOUNDED else after_ms


# A broker's times have several settings each; the ones not named here have the attribute of their first synonym.
_DERIVED = {
    "flush.ms": "log_flush_time_ms",
    "retention.ms": "log_retention_time_ms",
    "segment.jitter.ms": "log_roll_jitter_time_ms",
    "segment.ms": "log_roll_time_ms",
}


def topic_config(
    broker: "BrokerConfig", overrides: "Mapping[str, str]", *, ignore_unknown: bool = False
) -> TopicConfig:
    """A topic's effective settings: its own over the broker's. Raises INVALID_CONFIG with all faults."""
    values = {name: _broker_value(broker, each) for name, each in settings_of(TopicConfig).items()}
    return _overridden(values, overrides, ignore_unknown=ignore_unknown)


def check_topic_overrides(overrides: "Mapping[str, str]") -> None:
    """Raise INVALID_CONFIG unless these overrides are allowed on a broker that has Kafka's defaults."""
    values = {name: each.default for name, each in settings_of(TopicConfig).items()}
    _overridden(values, overrides, ignore_unknown=False)


def _broker_value(broker: "BrokerConfig", declared: Setting) -> Any:
    if not declared.synonyms:
        return declared.default
    return getattr(broker, _DERIVED.get(declared.name) or declared.synonyms[0].replace(".", "_"))


def _overridden(values: dict[str, Any], overrides: "Mapping[str, str]", *, ignore_unknown: bool) -> TopicConfig:
    declared, faults = settings_of(TopicConfig), []
    for name, text in overrides.items():
        try:
            if name in declared:
                values[name] = declared[name].read(text)
            elif not ignore_unknown:
                faults.append(Fault(name, None, "is not a topic setting"))
        except ConfigFaults as found:
            faults += found.faults
            del values[name]
    faults += broken_rules(TopicConfig, values)
    if faults:
        raise KafkaError(KafkaCode.INVALID_CONFIG, str(ConfigFaults(faults)))
    return TopicConfig(**{name.replace(".", "_"): value for name, value in values.items()})
