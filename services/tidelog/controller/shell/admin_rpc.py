"""Between admin requests and answers as values of the core and as protobuf messages."""

from collections.abc import Iterable
from uuid import UUID

from tidelog.controller.core.answers import PartitionsAnswered, ReassignmentsAnswered, TopicsAnswered
from tidelog.controller.core.topic_checks import MorePartitions, NewTopic
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition
from tidelog.rpc import controller_pb2, types_pb2


def new_topic(message: controller_pb2.NewTopic) -> NewTopic:
    return NewTopic(
        message.name,
        message.partitions,
        message.replication_factor,
        {each.partition: tuple(each.replicas) for each in message.assignments},
        dict(message.configs),
    )


def more_partitions(message: controller_pb2.MorePartitions) -> MorePartitions:
    assignments = tuple(tuple(each.replicas) for each in message.assignments)
    return MorePartitions(message.name, message.total, assignments if message.assignments_given else None)


def topic_reference(message: controller_pb2.TopicReference) -> str | UUID:
    return UUID(bytes=message.topic_id) if message.WhichOneof("reference") == "topic_id" else message.name


def partitions(messages: Iterable[types_pb2.TopicPartition]) -> tuple[TopicPartition, ...]:
    return tuple(_partition(each.topic, each.partition) for each in messages)


def targets(
    messages: Iterable[controller_pb2.Reassignment],
) -> dict[TopicPartition, tuple[int, ...] | None]:
    return {_partition(each.topic, each.partition): None if each.cancel else tuple(each.replicas) for each in messages}


def topic_results(answer: TopicsAnswered) -> controller_pb2.TopicResults:
    return controller_pb2.TopicResults(
        topics=[
            controller_pb2.TopicResult(
                name=each.name,
                topic_id=each.topic_id.bytes if each.topic_id else b"",
                error_code=each.code,
                error_message=each.message,
                partitions=each.partitions,
                replication_factor=each.replication_factor,
            )
            for each in answer.topics
        ]
    )


def partition_results(answer: PartitionsAnswered) -> controller_pb2.PartitionResults:
    return controller_pb2.PartitionResults(
        partitions=[
            types_pb2.PartitionResult(
                topic=partition.topic,
                partition=partition.partition,
                error_code=result.code,
                error_message=result.message,
            )
            for partition, result in answer.results.items()
        ]
    )


def reassignments(answer: ReassignmentsAnswered) -> controller_pb2.ListPartitionReassignmentsResponse:
    return controller_pb2.ListPartitionReassignmentsResponse(
        reassignments=[
            controller_pb2.OngoingReassignment(
                topic=partition.topic,
                partition=partition.partition,
                replicas=assignment.replicas,
                adding_replicas=assignment.adding,
                removing_replicas=assignment.removing,
            )
            for partition, assignment in answer.reassignments.items()
        ]
    )


def _partition(topic: str, partition: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionIndex(partition))
