"""Topics and their partitions."""

from collections.abc import Iterable, Sequence

from tidelog.client.administering.asking import AdminClient, raise_first
from tidelog.client.administering.values import ClusterDescription, NewTopic
from tidelog.client.core.cluster import TopicInfo
from tidelog.client.errors import WrongArgumentError
from tidelog.kafka.errors import PROPERTIES, KafkaCode, KafkaError
from tidelog.kafka.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tidelog.kafka.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tidelog.kafka.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

_BY_NAME_VERSION = 5


class TopicAdmin(AdminClient):
    """Creates, deletes, lists and describes topics."""

    async def create_topics(
        self, topics: Iterable[NewTopic | str], *, validate_only: bool = False, timeout_ms: int | None = None
    ) -> None:
        """Create topics; a bare name leaves everything to the brokers. The first refusal is raised, the rest is done."""
        wanted = [NewTopic(each) if isinstance(each, str) else each for each in topics]
        request = CreateTopicsRequest(
            topics=[_creatable(each) for each in wanted],
            timeout_ms=self._time_ms(timeout_ms),
            validate_only=validate_only,
        )
        await self._ask_controller(
            request,
            timeout_ms,
            lambda answer: [(each.name, each.error_code, each.error_message) for each in answer.topics],
        )

    async def delete_topics(self, names: Iterable[str], *, timeout_ms: int | None = None) -> None:
        """Delete topics with all that is in them."""
        wanted = list(names)
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name) for name in wanted],
            topic_names=wanted,
            timeout_ms=self._time_ms(timeout_ms),
        )
        await self._ask_controller(
            request,
            timeout_ms,
            lambda answer: [(each.name or "", each.error_code, each.error_message) for each in answer.responses],
            at_most=_BY_NAME_VERSION,
        )

    async def create_partitions(
        self,
        topic: str,
        count: int,
        *,
        replicas: Sequence[Sequence[int]] | None = None,
        validate_only: bool = False,
        timeout_ms: int | None = None,
    ) -> None:
        """Let a topic have this many partitions; `replicas` places the new ones."""
        if count < 1:
            raise WrongArgumentError(f"count: {count} is not a number of partitions")
        placed = None if replicas is None else [CreatePartitionsAssignment(broker_ids=list(each)) for each in replicas]
        request = CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name=topic, count=count, assignments=placed)],
            timeout_ms=self._time_ms(timeout_ms),
            validate_only=validate_only,
        )
        await self._ask_controller(
            request,
            timeout_ms,
            lambda answer: [(each.name, each.error_code, each.error_message) for each in answer.results],
        )

    async def list_topics(self, *, include_internal: bool = False, timeout_ms: int | None = None) -> list[str]:
        """The names of all topics, in order."""
        self.metadata.follow_all()
        await self.metadata.refresh(self._time_ms(timeout_ms))
        known = self.metadata.view.topics.values()
        return sorted(each.name for each in known if include_internal or not each.is_internal)

    async def describe_topics(self, names: Iterable[str], *, timeout_ms: int | None = None) -> dict[str, TopicInfo]:
        """Topics with their partitions. Raises UNKNOWN_TOPIC_OR_PARTITION for the first that there is not."""
        wanted = list(names)
        self.metadata.follow(wanted)
        await self.metadata.refresh(self._time_ms(timeout_ms))
        known = self.metadata.view.topics
        codes = {name: known[name].error if name in known else KafkaCode.UNKNOWN_TOPIC_OR_PARTITION for name in wanted}
        raise_first((name, code, PROPERTIES[code].text) for name, code in codes.items())
        return {name: known[name] for name in wanted}

    async def describe_cluster(self, *, timeout_ms: int | None = None) -> ClusterDescription:
        """The brokers that are there."""
        await self.metadata.refresh(self._time_ms(timeout_ms))
        view = self.metadata.view
        brokers = tuple(view.nodes[broker_id] for broker_id in sorted(view.nodes))
        return ClusterDescription(view.cluster_id, view.controller_id, brokers)


def _creatable(topic: NewTopic) -> CreatableTopic:
    if not topic.name:
        raise WrongArgumentError("topics: a topic has no name")
    if topic.replicas and (topic.partitions != -1 or topic.replication_factor != -1):
        raise WrongArgumentError(f"topics: {topic.name} has both replicas and numbers; one of them is wanted")
    if not topic.replicas and (topic.partitions == 0 or topic.partitions < -1):
        raise KafkaError(
            KafkaCode.INVALID_PARTITIONS, f"{topic.name}: {topic.partitions} is not a number of partitions"
        )
    return CreatableTopic(
        name=topic.name,
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=list(brokers))
            for number, brokers in topic.replicas.items()
        ],
        configs=[CreatableTopicConfig(name=key, value=str(value)) for key, value in topic.configs.items()],
    )
