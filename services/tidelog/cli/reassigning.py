"""Plans of where replicas go, in the JSON of Kafka's tool, and what became of them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.local.faults import LocalError, WrongUsageError

if TYPE_CHECKING:
    from tidelog.client import Admin, TopicPartition

Plan = dict["TopicPartition", list[int]]


class Progress(StrEnum):
    """What became of the move of one partition."""

    DONE = "done"
    MOVING = "moving"
    DIFFERENT = "different"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Moved:
    """One partition, where it is, and how that compares with the plan."""

    partition: "TopicPartition"
    replicas: tuple[int, ...]
    progress: Progress


def plan_text(plan: Mapping["TopicPartition", Sequence[int]]) -> str:
    """The file that `--reassignment-json-file` takes."""
    partitions = [
        {
            "topic": each.topic,
            "partition": each.partition,
            "replicas": list(replicas),
            "log_dirs": ["any"] * len(replicas),
        }
        for each, replicas in plan.items()
    ]
    return json.dumps({"version": 1, "partitions": partitions}, separators=(",", ":"))


def read_plan(path: Path) -> Plan:
    """The plan in such a file."""
    from tidelog.client import TopicPartition

    def parse(document: Any) -> Plan:
        return {
            TopicPartition(str(each["topic"]), int(each["partition"])): [int(broker) for broker in each["replicas"]]
            for each in document["partitions"]
        }

    plan: Plan = _read_json(path, parse, '{"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}')
    return plan


def read_topics(path: Path) -> list[str]:
    """The topics in a file of `--topics-to-move-json-file`."""
    found: list[str] = _read_json(
        path, lambda document: [str(each["topic"]) for each in document["topics"]], '{"topics":[{"topic":"t"}]}'
    )
    return found


def read_partitions(path: Path) -> "list[TopicPartition]":
    """The partitions in a file of `--path-to-json-file`."""
    from tidelog.client import TopicPartition

    found: list[TopicPartition] = _read_json(
        path,
        lambda document: [
            TopicPartition(str(each["topic"]), int(each["partition"])) for each in document["partitions"]
        ],
        '{"partitions":[{"topic":"t","partition":0}]}',
    )
    return found


def _read_json(path: Path, parse: Any, example: str) -> Any:
    try:
        return parse(json.loads(path.read_text("utf-8")))
    except OSError as error:
        raise LocalError(f"{path} cannot be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError):
        raise WrongUsageError(f"{path} is not what is wanted: it looks like {example}.") from None


async def current_plan(admin: "Admin", topics: Iterable[str]) -> Plan:
    """Where the replicas of topics are."""
    from tidelog.client import TopicPartition

    known = await admin.describe_topics(list(topics))
    return {
        TopicPartition(name, number): list(topic.partitions[number].replicas)
        for name, topic in known.items()
        for number in sorted(topic.partitions)
    }


async def propose(admin: "Admin", topics: Iterable[str], brokers: Sequence[int], *, heed_racks: bool = True) -> Plan:
    """Spread the replicas of topics over brokers, as the controller does with those of new topics."""
    from tidelog.client import TopicPartition
    from tidelog.controller.core.placement import place

    nodes = {node.id: node.rack for node in (await admin.describe_cluster()).brokers}
    for broker in brokers:
        if broker not in nodes:
            raise WrongUsageError(f"Broker {broker} is not in the cluster: those that are there are {sorted(nodes)}.")
    racks = {broker: nodes[broker] if heed_racks else None for broker in brokers}
    proposed: Plan = {}
    for start, (name, topic) in enumerate((await admin.describe_topics(list(topics))).items()):
        factor = len(topic.partitions[min(topic.partitions)].replicas)
        placed = place(racks, len(topic.partitions), factor, start=start, shift=start)
        proposed |= {TopicPartition(name, number): list(replicas) for number, replicas in placed.items()}
    return proposed


async def progress_of(admin: "Admin", plan: Plan) -> list[Moved]:
    """How far each partition of a plan has come."""
    moving = await admin.list_reassignments()
    await admin.list_topics(include_internal=True)
    found = []
    for partition, wanted in plan.items():
        info = admin.metadata.view.partition(*partition)
        if info is None:
            found.append(Moved(partition, (), Progress.MISSING))
        elif partition in moving:
            found.append(Moved(partition, info.replicas, Progress.MOVING))
        else:
            reached = list(info.replicas) == wanted
            found.append(Moved(partition, info.replicas, Progress.DONE if reached else Progress.DIFFERENT))
    return found
