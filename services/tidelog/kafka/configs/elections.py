"""Settings of the controller's work that a Kafka broker's configuration also names."""

from dataclasses import dataclass

from tidelog.kafka.configs.checks import at_least
from tidelog.kafka.configs.kinds import BOOLEAN, INT, LONG
from tidelog.kafka.configs.setting import HIGH, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class ElectionSettings:
    """How the controller talks to brokers and when it gives leadership back to preferred replicas."""

    __slots__ = ()

    controller_socket_timeout_ms: int = setting(
        "controller.socket.timeout.ms", INT, 30000, at_least(1), "How long the controller waits for a broker's answer."
    )
    auto_leader_rebalance_enable: bool = setting(
        "auto.leader.rebalance.enable",
        BOOLEAN,
        default=True,
        doc="Whether leadership returns to preferred replicas by itself.",
        importance=HIGH,
    )
    leader_imbalance_check_interval_seconds: int = setting(
        "leader.imbalance.check.interval.seconds",
        LONG,
        300,
        at_least(1),
        "How often the controller looks for leaders that are not preferred.",
        importance=HIGH,
    )
    leader_imbalance_per_broker_percentage: int = setting(
        "leader.imbalance.per.broker.percentage",
        INT,
        10,
        at_least(0),
        "The share of partitions led by others above which a broker's leaders are moved back.",
        importance=HIGH,
    )
