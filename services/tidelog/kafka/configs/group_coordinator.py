"""All settings of a group coordinator process."""

from dataclasses import dataclass

from tidelog.kafka.configs.checks import at_least
from tidelog.kafka.configs.groups import GroupSettings
from tidelog.kafka.configs.internal_topics import InternalTopicSettings
from tidelog.kafka.configs.kafka_listeners import KafkaListenerSettings
from tidelog.kafka.configs.kinds import INT, LONG, STRING
from tidelog.kafka.configs.service import ZooKeeperConfig
from tidelog.kafka.configs.setting import HIGH, REQUIRED, setting
from tidelog.kafka.configs.transactions import TransactionSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCoordinatorConfig(
    KafkaListenerSettings, GroupSettings, InternalTopicSettings, TransactionSettings, ZooKeeperConfig
):
    """Everything a group coordinator can be told."""

    coordinator_id: int = setting(
        "coordinator.id",
        INT,
        REQUIRED,
        at_least(0),
        "The coordinator's number, unique among the coordinators.",
        importance=HIGH,
    )
    inter_broker_listener_name: str | None = setting(
        "inter.broker.listener.name",
        STRING,
        None,
        doc="The listener of the brokers that coordinators use; without it, the first that a broker has.",
    )
    request_timeout_ms: int = setting(
        "request.timeout.ms",
        INT,
        30000,
        at_least(1),
        "How long the coordinator waits for a broker's answer.",
        importance=HIGH,
    )
    socket_request_max_bytes: int = setting(
        "socket.request.max.bytes",
        INT,
        104857600,
        at_least(1),
        "The largest request; a larger one closes its connection.",
        importance=HIGH,
    )
    connections_max_idle_ms: int = setting(
        "connections.max.idle.ms",
        LONG,
        600000,
        doc="Connections that are idle for longer are closed; negative for never.",
    )
    queued_max_requests: int = setting(
        "queued.max.requests",
        INT,
        500,
        at_least(1),
        "How many requests that ask other processes may be under way; who sends one more is not read from meanwhile.",
        importance=HIGH,
    )
    group_lag_check_interval_ms: int = setting(
        "group.lag.check.interval.ms",
        LONG,
        5000,
        at_least(100),
        "How often the ends of partitions are looked up, from which the lag of groups is found.",
    )
