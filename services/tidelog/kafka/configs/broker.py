"""All settings of a broker."""

from dataclasses import dataclass
from typing import ClassVar

from tidelog.kafka.configs.broker_cleaner import CleanerSettings
from tidelog.kafka.configs.broker_log import LogSettings
from tidelog.kafka.configs.broker_network import NetworkSettings
from tidelog.kafka.configs.broker_producers import ProducerStateSettings
from tidelog.kafka.configs.broker_quotas import QuotaSettings
from tidelog.kafka.configs.broker_replication import ReplicationSettings
from tidelog.kafka.configs.checks import at_least
from tidelog.kafka.configs.elections import ElectionSettings
from tidelog.kafka.configs.groups import GroupSettings
from tidelog.kafka.configs.internal_topics import InternalTopicSettings
from tidelog.kafka.configs.kafka_listeners import KafkaListenerSettings
from tidelog.kafka.configs.kinds import BOOLEAN, INT, STRING
from tidelog.kafka.configs.service import ZooKeeperConfig
from tidelog.kafka.configs.setting import HIGH, Rule, setting
from tidelog.kafka.configs.topic_defaults import TopicDefaultSettings
from tidelog.kafka.configs.transactions import TransactionSettings


def _broker_id_not_allowed(broker_id: int, generation: bool, largest: int) -> str:
    if broker_id < 0 and not generation:
        return "asks for a generated number, and broker.id.generation.enable is false"
    return f"is above reserved.broker.max.id={largest}" if generation and broker_id > largest else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig(
    KafkaListenerSettings,
    NetworkSettings,
    LogSettings,
    CleanerSettings,
    TopicDefaultSettings,
    ReplicationSettings,
    ElectionSettings,
    GroupSettings,
    InternalTopicSettings,
    TransactionSettings,
    ProducerStateSettings,
    QuotaSettings,
    ZooKeeperConfig,
):
    """Everything a broker can be told, under the names of a Kafka broker's server.properties."""

    broker_id: int = setting(
        "broker.id", INT, -1, at_least(-1), "The broker's number; -1 to have one generated.", importance=HIGH
    )
    broker_id_generation_enable: bool = setting(
        "broker.id.generation.enable",
        BOOLEAN,
        default=True,
        doc="Whether a broker without a number gets one above reserved.broker.max.id.",
    )
    reserved_broker_max_id: int = setting(
        "reserved.broker.max.id", INT, 1000, at_least(0), "The largest number that may be given to a broker by hand."
    )
    broker_rack: str | None = setting(
        "broker.rack", STRING, None, doc="The rack, zone or region of the broker; replicas are spread over racks."
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("broker.id", "broker.id.generation.enable", "reserved.broker.max.id"), _broker_id_not_allowed),
    )

    @property
    def inter_broker_listener(self) -> str:
        """The name of the listener that brokers replicate over."""
        return (self.inter_broker_listener_name or self.listeners[0].listener).upper()
