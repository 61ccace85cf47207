"""What the tests of the controller's work begin with, and how they look at what was sent."""

from tests.support.controller_driver import Driven, ModelCluster
from tidelog.controller.core.answers import Answer
from tidelog.controller.core.effects import Send
from tidelog.controller.core.events import AdminRequest
from tidelog.controller.core.requests import LeaderAndIsr, LeaderAndIsrPartition, StopReplica, StopReplicaPartition
from tidelog.controller.core.work import Settings
from tidelog.kafka.types import TopicPartition


def cluster_of(
    *brokers: int, topics: dict[str, dict[int, tuple[int, ...]]], settings: Settings | None = None
) -> ModelCluster:
    """Brokers that are up, and topics whose znodes were just written."""
    cluster = ModelCluster(settings)
    for id in brokers:
        cluster.start_broker(id)
    for topic, assignments in topics.items():
        cluster.write_topic(topic, assignments)
    return cluster


def running(cluster: ModelCluster, id: int = 0) -> Driven:
    """A controller that has taken over and come to rest."""
    driven = cluster.controller(id)
    driven.run()
    return driven


def ask(driven: Driven, event: AdminRequest) -> Answer:
    driven.post(event)
    driven.run()
    return driven.answers[event.request]


def forget_effects(driven: Driven) -> None:
    driven.effects.clear()


def roles_sent(driven: Driven, partition: TopicPartition) -> list[tuple[int, LeaderAndIsrPartition]]:
    """What each broker was told of its role, in order."""
    return [
        (effect.broker, each)
        for effect in driven.effects
        if isinstance(effect, Send) and isinstance(effect.request, LeaderAndIsr)
        for each in effect.request.partitions
        if each.partition == partition
    ]


def stops_sent(driven: Driven, partition: TopicPartition) -> list[tuple[int, StopReplicaPartition]]:
    return [
        (effect.broker, each)
        for effect in driven.effects
        if isinstance(effect, Send) and isinstance(effect.request, StopReplica)
        for each in effect.request.partitions
        if each.partition == partition
    ]
