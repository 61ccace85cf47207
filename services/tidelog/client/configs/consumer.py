"""Settings of a consumer."""

from dataclasses import dataclass

from tidelog.client.configs.client import ClientConfig
from tidelog.kafka.configs.checks import NOT_EMPTY, Check, at_least, one_of
from tidelog.kafka.configs.kinds import BOOLEAN, INT, LIST, STRING
from tidelog.kafka.configs.setting import HIGH, Rule, setting

ASSIGNOR_NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")


def _heartbeat_fault(heartbeat_ms: int, session_ms: int) -> str:
    return "" if heartbeat_ms < session_ms else "must be less than session.timeout.ms"


def _instance_fault(instance_id: str | None, group_id: str | None) -> str:
    return "needs a group.id" if instance_id is not None and group_id is None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerConfig(ClientConfig):
    """How records are fetched, positions kept and groups shared."""

    group_id: str | None = setting(
        "group.id", STRING, None, NOT_EMPTY, "The group whose members share the partitions.", importance=HIGH
    )
    group_instance_id: str | None = setting(
        "group.instance.id", STRING, None, NOT_EMPTY, "A name that lets a restarted member keep its partitions."
    )
    partition_assignment_strategy: tuple[str, ...] = setting(
        "partition.assignment.strategy",
        LIST,
        ("range", "cooperative-sticky"),
        Check(bool, f"a list of {', '.join(ASSIGNOR_NAMES)}, or of names of own assignors"),
        "How partitions are shared, the liked best first.",
    )
    session_timeout_ms: int = setting(
        "session.timeout.ms", INT, 45_000, at_least(1), "After this much silence a member has left its group."
    )
    heartbeat_interval_ms: int = setting(
        "heartbeat.interval.ms", INT, 3000, at_least(1), "How often a member says that it is alive."
    )
    max_poll_interval_ms: int = setting(
        "max.poll.interval.ms", INT, 300_000, at_least(1), "A member that does not poll for this long leaves its group."
    )
    max_poll_records: int = setting("max.poll.records", INT, 500, at_least(1), "Records that a poll gives at most.")
    enable_auto_commit: bool = setting(
        "enable.auto.commit", BOOLEAN, default=True, doc="Whether polling commits what earlier polls gave."
    )
    auto_commit_interval_ms: int = setting("auto.commit.interval.ms", INT, 5000, at_least(0), "How often it does.")
    auto_offset_reset: str = setting(
        "auto.offset.reset",
        STRING,
        "latest",
        one_of("latest", "earliest", "none"),
        "Where to start without a committed offset, or with one that is gone; none raises.",
        importance=HIGH,
    )
    isolation_level: str = setting(
        "isolation.level",
        STRING,
        "read_uncommitted",
        one_of("read_uncommitted", "read_committed"),
        "Whether records of open and aborted transactions are read.",
    )
    fetch_min_bytes: int = setting(
        "fetch.min.bytes", INT, 1, at_least(0), "Bytes for which a broker lets a fetch wait."
    )
    fetch_max_wait_ms: int = setting("fetch.max.wait.ms", INT, 500, at_least(0), "How long it lets it wait.")
    fetch_max_bytes: int = setting("fetch.max.bytes", INT, 52_428_800, at_least(0), "Bytes of a whole answer.")
    max_partition_fetch_bytes: int = setting(
        "max.partition.fetch.bytes", INT, 1_048_576, at_least(0), "Bytes of one partition in it."
    )
    check_crcs: bool = setting("check.crcs", BOOLEAN, default=True, doc="Whether checksums of batches are checked.")
    allow_auto_create_topics: bool = setting(
        "allow.auto.create.topics", BOOLEAN, default=True, doc="Whether asking for a topic may create it."
    )
    exclude_internal_topics: bool = setting(
        "exclude.internal.topics", BOOLEAN, default=True, doc="Whether a pattern leaves internal topics out."
    )
    default_api_timeout_ms: int = setting(
        "default.api.timeout.ms", INT, 60_000, at_least(0), "How long calls without a timeout of their own may take."
    )

    rules = (
        Rule(("heartbeat.interval.ms", "session.timeout.ms"), _heartbeat_fault),
        Rule(("group.instance.id", "group.id"), _instance_fault),
    )
