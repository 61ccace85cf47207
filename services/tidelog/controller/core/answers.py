"""What admin requests are answered with."""

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.controller.core.assignment import Assignment
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import TopicId, TopicPartition


@dataclass(frozen=True, slots=True)
class Refused:
    """The whole request is refused."""

    code: KafkaCode
    message: str = ""


@dataclass(frozen=True, slots=True)
class TopicResult:
    """What became of one topic; numbers are -1 and the id is None where the topic does not exist."""

    name: str
    code: KafkaCode = KafkaCode.NONE
    message: str = ""
    topic_id: TopicId | None = None
    partitions: int = -1
    replication_factor: int = -1


@dataclass(frozen=True, slots=True)
class TopicsAnswered:
    """Answers CreateTopics, CreatePartitions and DeleteTopics, in the order asked."""

    topics: tuple[TopicResult, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one partition."""

    code: KafkaCode = KafkaCode.NONE
    message: str = ""


@dataclass(frozen=True, slots=True)
class PartitionsAnswered:
    """Answers ElectLeaders and AlterPartitionReassignments."""

    results: Mapping[TopicPartition, Result]


@dataclass(frozen=True, slots=True)
class ReassignmentsAnswered:
    """Answers ListPartitionReassignments."""

    reassignments: Mapping[TopicPartition, Assignment]


@dataclass(frozen=True, slots=True)
class ShutdownAnswered:
    """Answers ControlledShutdown: partitions with other replicas that the broker still leads."""

    remaining: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ProducerIdsAnswered:
    """Answers AllocateProducerIds: a block that nobody else will get."""

    first: int
    count: int


Answer = Refused | TopicsAnswered | PartitionsAnswered | ReassignmentsAnswered | ShutdownAnswered | ProducerIdsAnswered
