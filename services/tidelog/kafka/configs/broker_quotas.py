"""Settings of quotas: the windows over which rates are measured."""

from dataclasses import dataclass

from tidelog.kafka.configs.checks import at_least
from tidelog.kafka.configs.kinds import INT, LONG
from tidelog.kafka.configs.setting import LOW, PER_BROKER, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class QuotaSettings:
    """The windows of client, replication, directory and controller quotas."""

    __slots__ = ()

    quota_window_num: int = setting(
        "quota.window.num", INT, 11, at_least(1), "How many windows a client's rate is measured over.", importance=LOW
    )
    quota_window_size_seconds: int = setting(
        "quota.window.size.seconds", INT, 1, at_least(1), "The length of each of these windows.", importance=LOW
    )
    replication_quota_window_num: int = setting(
        "replication.quota.window.num",
        INT,
        11,
        at_least(1),
        "How many windows the rate of throttled replication is measured over.",
        importance=LOW,
    )
    replication_quota_window_size_seconds: int = setting(
        "replication.quota.window.size.seconds",
        INT,
        1,
        at_least(1),
        "The length of each of these windows.",
        importance=LOW,
    )
    alter_log_dirs_replication_quota_window_num: int = setting(
        "alter.log.dirs.replication.quota.window.num",
        INT,
        11,
        at_least(1),
        "How many windows the rate of moves between directories is measured over.",
        importance=LOW,
    )
    alter_log_dirs_replication_quota_window_size_seconds: int = setting(
        "alter.log.dirs.replication.quota.window.size.seconds",
        INT,
        1,
        at_least(1),
        "The length of each of these windows.",
        importance=LOW,
    )
    controller_quota_window_num: int = setting(
        "controller.quota.window.num",
        INT,
        11,
        at_least(1),
        "How many windows the rate of changes to topics is measured over.",
        importance=LOW,
    )
    controller_quota_window_size_seconds: int = setting(
        "controller.quota.window.size.seconds",
        INT,
        1,
        at_least(1),
        "The length of each of these windows.",
        importance=LOW,
    )
    leader_replication_throttled_rate: int = setting(
        "leader.replication.throttled.rate",
        LONG,
        (1 << 63) - 1,
        at_least(0),
        "How many bytes a second a leader sends to throttled replicas.",
        update=PER_BROKER,
    )
    follower_replication_throttled_rate: int = setting(
        "follower.replication.throttled.rate",
        LONG,
        (1 << 63) - 1,
        at_least(0),
        "How many bytes a second throttled replicas of this broker fetch.",
        update=PER_BROKER,
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = setting(
        "replica.alter.log.dirs.io.max.bytes.per.second",
        LONG,
        (1 << 63) - 1,
        at_least(0),
        "How many bytes a second moves between directories may copy.",
        update=PER_BROKER,
    )
