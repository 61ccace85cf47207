"""What may be asked of topics; each check raises the KafkaError that Kafka answers."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tidelog.controller.core.assignment import Assignment
from tidelog.controller.core.context import Context
from tidelog.kafka.configs.topic import check_topic_overrides
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import PartitionIndex, TopicName, check_topic_name

DEFAULT = -1  # a number that was left to the cluster's configuration

Replicas = Mapping[int, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create: either numbers or assignments."""

    name: str
    partitions: int = DEFAULT
    replication_factor: int = DEFAULT
    assignments: Replicas = field(default_factory=dict)
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MorePartitions:
    """A topic to grow to `total` partitions; assignments are those of the new ones in order, None to have them placed."""

    name: str
    total: int
    assignments: tuple[tuple[int, ...], ...] | None = None


def duplicates(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


def check_not_known(context: Context, name: str) -> None:
    if name in context.assignments:
        raise KafkaError(KafkaCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")


def check_new_topic(context: Context, topic: NewTopic, assignments: Replicas) -> None:
    """Everything but the numbers, which are checked by placing the replicas."""
    check_topic_name(topic.name)
    _check_collision(context, topic.name)
    _check_assignments(assignments)
    check_topic_overrides(topic.configs)


def check_either(topic: NewTopic) -> None:
    if topic.assignments and (topic.partitions, topic.replication_factor) != (DEFAULT, DEFAULT):
        message = "Both numPartitions or replicationFactor and replicasAssignments were set."
        raise KafkaError(KafkaCode.INVALID_REQUEST, message)


def _check_collision(context: Context, name: str) -> None:
    """Metrics replace '.' by '_', so two names that differ only there would be one."""
    if not any(mark in name for mark in "._"):
        return
    merged = name.replace(".", "_")
    for other in context.topics:
        if other.replace(".", "_") == merged:
            message = f"Topic '{name}' collides with existing topic: {other}"
            raise KafkaError(KafkaCode.INVALID_TOPIC_EXCEPTION, message)


def _check_assignments(assignments: Replicas) -> None:
    if sorted(assignments) != list(range(len(assignments))):
        _bad_assignment("partitions should be a consecutive 0-based integer sequence")
    if len({len(replicas) for replicas in assignments.values()}) > 1:
        _bad_assignment("All partitions should have the same number of replicas.")
    for index, replicas in assignments.items():
        _check_replicas(index, replicas)


def _check_replicas(partition: int, replicas: tuple[int, ...]) -> None:
    if not replicas:
        _bad_assignment(f"Partition {partition} has no replicas.")
    if len(set(replicas)) != len(replicas):
        _bad_assignment(f"Duplicate replica assignment found: partition {partition} on {list(replicas)}")
    if min(replicas) < 0:
        _bad_assignment(f"Invalid broker id in the replicas of partition {partition}: {list(replicas)}")


def _bad_assignment(message: str) -> None:
    raise KafkaError(KafkaCode.INVALID_REPLICA_ASSIGNMENT, message)


def check_growth(context: Context, more: MorePartitions) -> Mapping[PartitionIndex, Assignment]:
    """The topic's present assignment, if it may grow as asked."""
    name = TopicName(more.name)
    present = context.assignments.get(name)
    if present is None:
        raise KafkaError(KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if context.is_deleting(name):
        raise KafkaError(KafkaCode.INVALID_TOPIC_EXCEPTION, "The topic is queued for deletion.")
    if context.is_being_reassigned(name):
        message = f"A partition reassignment is in progress for the topic '{name}'."
        raise KafkaError(KafkaCode.REASSIGNMENT_IN_PROGRESS, message)
    if more.total < len(present):
        message = f"Topic currently has {len(present)} partitions, which is higher than the requested {more.total}."
        raise KafkaError(KafkaCode.INVALID_PARTITIONS, message)
    if more.total == len(present):
        raise KafkaError(KafkaCode.INVALID_PARTITIONS, f"Topic already has {len(present)} partitions.")
    if more.assignments is not None:
        _check_growth_assignments(context, more, len(present), len(present[PartitionIndex(0)].replicas))
    return present


def _check_growth_assignments(context: Context, more: MorePartitions, present: int, replication_factor: int) -> None:
    assert more.assignments is not None, "only given assignments are checked"
    unknown = {id for replicas in more.assignments for id in replicas} - context.brokers.keys()
    if unknown:
        _bad_assignment(f"Unknown broker(s) in replica assignment: {sorted(unknown)}.")
    given, increment = len(more.assignments), more.total - present
    if given != increment:
        _bad_assignment(f"Increasing the number of partitions by {increment} but {given} assignments provided.")
    for index, replicas in enumerate(more.assignments, present):
        _check_replicas(index, replicas)
        if len(replicas) != replication_factor:
            _bad_assignment(f"Partition {index} has {len(replicas)} replicas, but the topic has {replication_factor}.")
