"""Reassignments asked for through the API or /admin/reassign_partitions. Whatever is asked last wins."""

from collections.abc import Iterable, Mapping

from tidelog.controller.core import legacy_reassignments, reassignment
from tidelog.controller.core.answers import Result
from tidelog.controller.core.assignment import Assignment
from tidelog.controller.core.effects import What
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import TopicPartition

# The replicas wanted; None cancels the reassignment under way.
Targets = Mapping[TopicPartition, tuple[int, ...] | None]


def reassign_partitions(work: Work, targets: Targets) -> Task[dict[TopicPartition, Result]]:
    wanted: dict[TopicPartition, Assignment] = {}
    results: dict[TopicPartition, Result] = {}
    for partition, target in targets.items():
        try:
            wanted[partition] = _planned(work, partition, target)
            results[partition] = Result()
        except KafkaError as refusal:
            results[partition] = Result(refusal.code, refusal.message)
    # The older wish, if there is one in the znode, is overtaken.
    if wanted:
        yield from legacy_reassignments.remove(work, lambda partition, _: partition in wanted)
    for partition, assignment in wanted.items():
        yield from reassignment.reassign(work, partition, assignment)
    return results


def on_legacy_reassignments(work: Work) -> Task[set[TopicPartition]]:
    """Start what the znode asks for and is not under way yet; gives what was started."""
    targets = (yield from legacy_reassignments.read(work)) or {}
    started: set[TopicPartition] = set()
    refused: set[TopicPartition] = set()
    for partition, target in targets.items():
        try:
            check_replicas(target)
            wanted = _current(work, partition).reassigned_to(target)
        except KafkaError as refusal:
            work.note(What.REASSIGNMENT_REFUSED, partition, refusal.message)
            refused.add(partition)
            continue
        if partition not in work.context.reassigning or wanted != work.context.assignment(partition):
            yield from reassignment.reassign(work, partition, wanted)
            started.add(partition)
    if refused:
        yield from legacy_reassignments.remove(work, lambda partition, _: partition in refused)
    return started


def listed(work: Work, partitions: Iterable[TopicPartition] | None) -> dict[TopicPartition, Assignment]:
    """The reassignments under way, of these partitions or of all."""
    wanted = work.context.reassigning if partitions is None else work.context.reassigning.intersection(partitions)
    found = {partition: work.context.assignment(partition) for partition in sorted(wanted)}
    return {partition: assignment for partition, assignment in found.items() if assignment is not None}


def _planned(work: Work, partition: TopicPartition, target: tuple[int, ...] | None) -> Assignment:
    if target is not None:
        check_replicas(target)
    current = _current(work, partition)
    if target is None:
        if not current.is_reassigned:
            raise KafkaError(KafkaCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
        return current.reassigned_to(current.origin)
    dead = [id for id in target if id not in current.replicas and not work.context.is_live(id, partition)]
    if dead:
        message = f"Replica assignment has brokers that are not alive: {dead}."
        raise KafkaError(KafkaCode.INVALID_REPLICA_ASSIGNMENT, message)
    return current.reassigned_to(target)


def _current(work: Work, partition: TopicPartition) -> Assignment:
    current = work.context.assignment(partition)
    if current is None or work.context.is_deleting(partition.topic):
        raise KafkaError(KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    return current


def check_replicas(target: tuple[int, ...]) -> None:
    fault = ""
    if not target:
        fault = "Empty replica list specified in partition reassignment."
    elif len(set(target)) != len(target):
        fault = f"Duplicate replica ids in partition reassignment replica list: {list(target)}."
    elif min(target) < 0:
        fault = f"Invalid broker id in replica list: {list(target)}."
    if fault:
        raise KafkaError(KafkaCode.INVALID_REPLICA_ASSIGNMENT, fault)
