"""Settings of replication between brokers."""

from dataclasses import dataclass
from typing import ClassVar

from tidelog.kafka.configs.checks import Check, at_least, one_of
from tidelog.kafka.configs.kinds import BOOLEAN, CLASS, INT, LONG
from tidelog.kafka.configs.setting import CLUSTER_WIDE, HIGH, Rule, setting


def _wait_beyond_socket_timeout(wait_ms: int, socket_timeout_ms: int) -> str:
    return f"is above replica.socket.timeout.ms={socket_timeout_ms}" if wait_ms > socket_timeout_ms else ""


def _wait_beyond_lag_time(wait_ms: int, lag_time_ms: int) -> str:
    # An idle partition's follower would drop out of the in-sync set between two answers.
    return f"is above replica.lag.time.max.ms={lag_time_ms}" if wait_ms > lag_time_ms else ""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class ReplicationSettings:
    """How followers fetch, when one is out of sync, and how a broker hands over before it stops."""

    __slots__ = ()

    replica_lag_time_max_ms: int = setting(
        "replica.lag.time.max.ms",
        LONG,
        30000,
        at_least(1),
        "A follower that has not caught up for this long leaves the in-sync set.",
        importance=HIGH,
    )
    replica_catch_up_timeout_ms: int = setting(
        "replica.catch.up.timeout.ms",
        LONG,
        60000,
        at_least(-1),
        "How long a starting broker whose replicas are not in sync says that it is not ready; -1 for ever.",
    )
    replica_fetch_max_bytes: int = setting(
        "replica.fetch.max.bytes",
        INT,
        1048576,
        at_least(0),
        "How many bytes of one partition a follower asks for; one batch always fits.",
    )
    replica_fetch_response_max_bytes: int = setting(
        "replica.fetch.response.max.bytes", INT, 10485760, at_least(0), "How many bytes in all a follower asks for."
    )
    replica_fetch_wait_max_ms: int = setting(
        "replica.fetch.wait.max.ms",
        INT,
        500,
        at_least(0),
        "How long a leader may hold a follower's fetch while nothing is new.",
        importance=HIGH,
    )
    replica_fetch_min_bytes: int = setting(
        "replica.fetch.min.bytes",
        INT,
        1,
        at_least(0),
        "How many bytes a leader waits for before it answers a follower.",
        importance=HIGH,
    )
    replica_fetch_backoff_ms: int = setting(
        "replica.fetch.backoff.ms", INT, 1000, at_least(0), "How long a follower rests after a fetch that failed."
    )
    replica_socket_timeout_ms: int = setting(
        "replica.socket.timeout.ms",
        INT,
        30000,
        at_least(1),
        "How long a follower waits for a leader's answer.",
        importance=HIGH,
    )
    replica_socket_receive_buffer_bytes: int = setting(
        "replica.socket.receive.buffer.bytes",
        INT,
        65536,
        Check(lambda size: size == -1 or size >= 1, "at least 1, or -1 for the system's choice"),
        "The receive buffer of a follower's connection.",
        importance=HIGH,
    )
    replica_high_watermark_checkpoint_interval_ms: int = setting(
        "replica.high.watermark.checkpoint.interval.ms",
        LONG,
        5000,
        at_least(1),
        "How often high watermarks are written down.",
        importance=HIGH,
    )
    replica_selector_class: str | None = setting(
        "replica.selector.class",
        CLASS,
        None,
        one_of(
            "org.apache.kafka.common.replica.LeaderSelector", "org.apache.kafka.common.replica.RackAwareReplicaSelector"
        ),
        "Which replica a consumer is sent to; without it, the leader.",
    )
    num_replica_fetchers: int = setting(
        "num.replica.fetchers",
        INT,
        1,
        at_least(1),
        "Connections over which a follower fetches from one leader.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    num_replica_alter_log_dirs_threads: int | None = setting(
        "num.replica.alter.log.dirs.threads",
        INT,
        None,
        at_least(1),
        "How many replicas move between log directories at once; without it, one a directory.",
        importance=HIGH,
    )
    controlled_shutdown_enable: bool = setting(
        "controlled.shutdown.enable",
        BOOLEAN,
        default=True,
        doc="Whether a broker asks the controller to move its leaderships before it stops.",
    )
    controlled_shutdown_max_retries: int = setting(
        "controlled.shutdown.max.retries", INT, 3, at_least(0), "How often it asks again when that failed."
    )
    controlled_shutdown_retry_backoff_ms: int = setting(
        "controlled.shutdown.retry.backoff.ms", LONG, 5000, at_least(0), "How long it waits before it asks again."
    )
    controlled_shutdown_replicas_wait_ms: int = setting(
        "controlled.shutdown.replicas.wait.ms",
        LONG,
        0,
        at_least(0),
        "How long a broker that is told to stop waits first, while partitions that it is in sync for lack other replicas.",
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("replica.fetch.wait.max.ms", "replica.socket.timeout.ms"), _wait_beyond_socket_timeout),
        Rule(("replica.fetch.wait.max.ms", "replica.lag.time.max.ms"), _wait_beyond_lag_time),
    )
