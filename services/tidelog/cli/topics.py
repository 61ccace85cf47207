"""`tidelog topics`: creates, lists, describes, alters and deletes topics."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidelog.cli.completing import complete_topic
from tidelog.cli.lazily import noun
from tidelog.cli.options import JsonOption
from tidelog.cli.parsing import pairs, replica_assignment
from tidelog.cli.printing import print_json, print_table
from tidelog.cli.target import Target, speaks
from tidelog.local.faults import WrongUsageError

if TYPE_CHECKING:
    from tidelog.client.core.cluster import PartitionInfo, TopicInfo

topics = noun("topics", "Create, list, describe, alter and delete topics.")

NamesArgument = Annotated[
    list[str],
    typer.Argument(metavar="TOPIC...", help="Names of topics.", show_default=False, autocompletion=complete_topic),
]


@topics.command("list")
@speaks
async def list_topics(
    target: Target,
    internal: Annotated[bool, typer.Option("--internal", help="Also the topics of the cluster itself.")] = False,
    json_output: JsonOption = False,
) -> None:
    """List the topics.

    Examples:

    - `tidelog topics list`
    - `tidelog topics list --internal --json`
    """
    async with target.admin() as admin:
        names = await admin.list_topics(include_internal=internal)
        known = [admin.metadata.view.topics[name] for name in names]
    if json_output:
        print_json([_summary(each) for each in known])
    else:
        rows = [[row["name"], row["partitions"], row["replication_factor"]] for row in map(_summary, known)]
        print_table(["TOPIC", "PARTITIONS", "REPLICAS"], rows)


@topics.command("create")
@speaks
async def create(
    target: Target,
    names: NamesArgument,
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, help="How many.", show_default="the brokers' setting")
    ] = None,
    replicas: Annotated[
        int | None, typer.Option("--replicas", "-r", min=1, help="Copies of each.", show_default="the brokers' setting")
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option("--config", "-c", metavar="KEY=VALUE", help="A setting.", show_default=False)
    ] = None,
    assignment: Annotated[
        str | None,
        typer.Option(metavar="0:1,1:2", help="The brokers of each partition, instead of numbers.", show_default=False),
    ] = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="One that is there is no fault.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only ask whether it could be done.")] = False,
) -> None:
    """Create topics.

    Examples:

    - `tidelog topics create orders --partitions 6 --replicas 3`
    - `tidelog topics create logs --config retention.ms=3600000 --config cleanup.policy=delete`
    - `tidelog topics create placed --assignment 0:1,1:2`
    """
    from tidelog.client import KafkaCode, KafkaError, NewTopic

    if assignment and (partitions or replicas):
        raise WrongUsageError("--assignment says how many partitions and replicas there are: leave out the numbers.")
    configs = pairs(config or [], "--config")
    placed = replica_assignment(assignment) if assignment else {}
    async with target.admin() as admin:
        for name in names:
            topic = NewTopic(name, partitions or -1, replicas or -1, configs, placed)
            try:
                await admin.create_topics([topic], validate_only=dry_run)
            except KafkaError as error:
                if error.code is not KafkaCode.TOPIC_ALREADY_EXISTS or not if_not_exists:
                    raise
                print(f"Topic {name} is there already.")
            else:
                print(f"Topic {name} could be created." if dry_run else f"Created topic {name}.")


@topics.command("describe")
@speaks
async def describe(
    target: Target,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TOPIC]...", help="All if none is named.", autocompletion=complete_topic),
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Show the partitions of topics: who leads them, who has copies, who is in sync; and settings that were changed.

    Examples:

    - `tidelog topics describe orders`
    - `tidelog topics describe --json`
    """
    async with target.admin() as admin:
        found = await admin.describe_topics(names or await admin.list_topics())
        documents = [_described(topic, await changed_settings(admin, topic.name)) for topic in found.values()]
    if json_output:
        print_json(documents)
        return
    for document in documents:
        settings = " ".join(f"{key}={value}" for key, value in document["configs"].items())
        print(f"{document['name']}  id {document['topic_id']}  {settings}".rstrip())
        rows = [
            [each["partition"], each["leader"], each["replicas"], each["isr"], each["offline"]]
            for each in document["partitions"]
        ]
        print_table(["PARTITION", "LEADER", "REPLICAS", "IN-SYNC", "OFFLINE"], rows)


@topics.command("alter")
@speaks
async def alter(
    target: Target,
    name: Annotated[str, typer.Argument(metavar="TOPIC", show_default=False, autocompletion=complete_topic)],
    partitions: Annotated[int, typer.Option("--partitions", "-p", min=1, help="How many there shall be.")],
) -> None:
    """Give a topic more partitions. Settings are changed with `tidelog configs alter`.

    Examples:

    - `tidelog topics alter logs --partitions 9`
    """
    async with target.admin() as admin:
        await admin.create_partitions(name, partitions)
    print(f"Topic {name} has {partitions} partitions.")


@topics.command("delete")
@speaks
async def delete(
    target: Target,
    names: NamesArgument,
    if_exists: Annotated[bool, typer.Option("--if-exists", help="One that is not there is no fault.")] = False,
) -> None:
    """Delete topics with all that is in them.

    Examples:

    - `tidelog topics delete placed`
    - `tidelog topics delete placed --if-exists`
    """
    from tidelog.client import KafkaCode, KafkaError

    async with target.admin() as admin:
        for name in names:
            try:
                await admin.delete_topics([name])
            except KafkaError as error:
                if error.code is not KafkaCode.UNKNOWN_TOPIC_OR_PARTITION or not if_exists:
                    raise
                print(f"Topic {name} is not there.")
            else:
                print(f"Deleted topic {name}.")


async def changed_settings(admin: Any, topic: str) -> dict[str, str | None]:
    """The settings that a topic has of its own."""
    from tidelog.client import ConfigResource
    from tidelog.kafka.configs.setting import ConfigSource

    entries = await admin.describe_configs(ConfigResource.topic(topic))
    own = (each for each in entries.values() if each.source is ConfigSource.DYNAMIC_TOPIC)
    return {each.name: each.value for each in own}


def replication_factor(topic: "TopicInfo") -> int:
    """That of partition 0, as in Kafka's tools."""
    first = next(iter(topic.partitions.values()), None)
    return len(first.replicas) if first else 0


def _summary(topic: "TopicInfo") -> dict[str, Any]:
    return {
        "name": topic.name,
        "partitions": len(topic.partitions),
        "replication_factor": replication_factor(topic),
        "internal": topic.is_internal,
    }


def _described(topic: "TopicInfo", configs: dict[str, str | None]) -> dict[str, Any]:
    from tidelog.kafka.types import topic_id_text

    partitions = [_partition(topic.partitions[number]) for number in sorted(topic.partitions)]
    return {"name": topic.name, "topic_id": topic_id_text(topic.topic_id), "configs": configs, "partitions": partitions}


def _partition(info: "PartitionInfo") -> dict[str, Any]:
    return {
        "partition": info.partition,
        "leader": info.leader if info.leader >= 0 else None,
        "leader_epoch": info.leader_epoch,
        "replicas": list(info.replicas),
        "isr": list(info.isr),
        "offline": list(info.offline_replicas),
    }
