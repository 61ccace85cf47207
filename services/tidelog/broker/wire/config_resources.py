"""Whose configuration a request is about: the types of resources, and which of them this broker answers for."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from tidelog.kafka.errors import KafkaCode, KafkaError

if TYPE_CHECKING:
    from tidelog.kafka.cluster import ClusterView

# The resource name that stands for all brokers.
ALL_BROKERS = ""


class ResourceType(IntEnum):
    """The resources that have configurations, by the numbers of the wire."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8


def resource_type(number: int) -> ResourceType:
    """Raises INVALID_REQUEST for a type that has no configuration here."""
    if number not in list(ResourceType):
        raise KafkaError(KafkaCode.INVALID_REQUEST, f"There is no configuration of resource type {number}.")
    return ResourceType(number)


def check_topic(view: ClusterView, name: str) -> None:
    """Raises UNKNOWN_TOPIC_OR_PARTITION unless there is such a topic."""
    if name not in view.topics:
        raise KafkaError(KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {name!r}.")


def check_broker(broker_id: int, name: str) -> None:
    """Raises INVALID_REQUEST unless this broker is meant: others do not know its configuration."""
    if name != str(broker_id):
        raise KafkaError(KafkaCode.INVALID_REQUEST, f"This is broker {broker_id}; it was asked about {name!r}.")
