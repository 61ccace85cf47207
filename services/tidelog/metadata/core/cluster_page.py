"""The cluster as the REST API shows it."""

from dataclasses import dataclass

from tidelog.kafka.cluster import ClusterView, Member
from tidelog.kafka.types import topic_id_text


@dataclass(frozen=True, slots=True)
class ProcessPage:
    """One registered process."""

    id: int
    epoch: int
    endpoints: list[str]
    rack: str | None


@dataclass(frozen=True, slots=True)
class TopicPage:
    """One topic in a line."""

    name: str
    topic_id: str
    partitions: int
    internal: bool


@dataclass(frozen=True, slots=True)
class ClusterPage:
    """The whole cluster; `controller_id` is the active controller process, not the broker that Kafka clients are told."""

    cluster_id: str
    controller_id: int
    controller_epoch: int
    brokers: list[ProcessPage]
    controllers: list[ProcessPage]
    coordinators: list[ProcessPage]
    topics: list[TopicPage]


def describe(view: ClusterView) -> ClusterPage:
    return ClusterPage(
        cluster_id=view.cluster_id,
        controller_id=view.active_controller_id,
        controller_epoch=view.controller_epoch,
        brokers=_processes(view.brokers),
        controllers=_processes(view.controllers),
        coordinators=_processes(view.coordinators),
        topics=[
            TopicPage(topic.name, topic_id_text(topic.topic_id), len(topic.partitions), topic.internal)
            for _, topic in sorted(view.topics.items())
        ],
    )


def _processes(members: dict[int, Member]) -> list[ProcessPage]:
    return [
        ProcessPage(member.id, member.epoch, [str(endpoint) for endpoint in member.endpoints], member.rack)
        for _, member in sorted(members.items())
    ]
