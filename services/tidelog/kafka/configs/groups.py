"""Settings of consumer groups and their offsets."""

from dataclasses import dataclass
from typing import ClassVar

from tidelog.kafka.configs.checks import at_least
from tidelog.kafka.configs.kinds import INT, LONG, SHORT
from tidelog.kafka.configs.setting import HIGH, Rule, setting


def _timeouts_reversed(low_ms: int, high_ms: int) -> str:
    return f"is above group.max.session.timeout.ms={high_ms}" if low_ms > high_ms else ""


def _acks_beyond_replicas(acks: int, replicas: int) -> str:
    return f"is above offsets.topic.replication.factor={replicas}" if acks > replicas else ""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class GroupSettings:
    """The bounds on groups and on what they commit."""

    __slots__ = ()

    group_min_session_timeout_ms: int = setting(
        "group.min.session.timeout.ms",
        INT,
        6000,
        at_least(1),
        "The shortest session timeout that a member may ask for.",
    )
    group_max_session_timeout_ms: int = setting(
        "group.max.session.timeout.ms",
        INT,
        1800000,
        at_least(1),
        "The longest session timeout that a member may ask for.",
    )
    group_initial_rebalance_delay_ms: int = setting(
        "group.initial.rebalance.delay.ms",
        INT,
        3000,
        at_least(0),
        "How long an empty group's first rebalance waits for more members.",
    )
    group_max_size: int = setting("group.max.size", INT, 2147483647, at_least(1), "How many members a group may have.")
    offset_metadata_max_bytes: int = setting(
        "offset.metadata.max.bytes",
        INT,
        4096,
        at_least(0),
        "The longest text that may be committed beside an offset.",
        importance=HIGH,
    )
    offsets_retention_minutes: int = setting(
        "offsets.retention.minutes",
        INT,
        10080,
        at_least(1),
        "How long the offsets of a group without members are kept.",
        importance=HIGH,
    )
    offsets_retention_check_interval_ms: int = setting(
        "offsets.retention.check.interval.ms",
        LONG,
        600000,
        at_least(1),
        "How often offsets that are too old are looked for.",
        importance=HIGH,
    )
    offsets_commit_timeout_ms: int = setting(
        "offsets.commit.timeout.ms",
        INT,
        5000,
        at_least(1),
        "How long an offset commit may wait for the replicas.",
        importance=HIGH,
    )
    offsets_commit_required_acks: int = setting(
        "offsets.commit.required.acks",
        SHORT,
        -1,
        at_least(-1),
        "The acks that an offset commit waits for.",
        importance=HIGH,
    )
    offsets_load_buffer_size: int = setting(
        "offsets.load.buffer.size",
        INT,
        5242880,
        at_least(1),
        "How much is read at once while a shard of groups is loaded.",
        importance=HIGH,
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("group.min.session.timeout.ms", "group.max.session.timeout.ms"), _timeouts_reversed),
        Rule(("offsets.commit.required.acks", "offsets.topic.replication.factor"), _acks_beyond_replicas),
    )
