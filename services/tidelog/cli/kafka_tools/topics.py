"""`tidelog kafka-topics`."""

from argparse import Namespace
from typing import TYPE_CHECKING

from tidelog.cli.kafka_tools.dialect import Flags, matching, needed, one_of, run, target_of
from tidelog.cli.parsing import pairs, replica_assignment
from tidelog.cli.target import Target

if TYPE_CHECKING:
    from tidelog.client import Admin
    from tidelog.client.core.cluster import PartitionInfo, TopicInfo

_EXAMPLES = (
    "--create --zookeeper localhost:2181 --replication-factor 1 --partitions 1 --topic test",
    "--create --bootstrap-server localhost:9092 --topic clicks --partitions 3 --config retention.ms=60000 --if-not-exists",
    "--list --bootstrap-server localhost:9092",
    "--describe --bootstrap-server localhost:9092 --topic test",
    "--alter --bootstrap-server localhost:9092 --topic clicks --partitions 6",
    "--delete --bootstrap-server localhost:9092 --topic clicks",
)


def parser() -> Flags:
    flags = Flags("kafka-topics", "Create, delete, describe, or change a topic.", _EXAMPLES)
    flags.addresses()
    flags.flags("create", "delete", "alter", "describe", "list", "if-exists", "if-not-exists", "exclude-internal")
    flags.flags("under-replicated-partitions", "unavailable-partitions", "under-min-isr-partitions")
    flags.flags("at-min-isr-partitions", "topics-with-overrides", "disable-rack-aware", "force")
    flags.values("topic", "replica-assignment")
    flags.numbers(partitions=None, replication_factor=None)
    flags.lists("config", "delete-config")
    return flags


def main(arguments: list[str]) -> None:
    flags = parser()
    given = flags.parse_args(arguments)
    action = one_of(flags, given, "create", "delete", "alter", "describe", "list")
    if action in ("create", "delete", "alter"):
        needed(flags, given.topic, "topic")
    if action == "alter" and given.partitions is None and not given.config and not given.delete_config:
        flags.error("--alter wants --partitions")
    run(_ACTIONS[action](target_of(given), given))


async def _create(target: Target, given: Namespace) -> None:
    from tidelog.client import KafkaCode, KafkaError, NewTopic

    placed = replica_assignment(given.replica_assignment) if given.replica_assignment else {}
    numbers = (-1, -1) if placed else (given.partitions or -1, given.replication_factor or -1)
    topic = NewTopic(given.topic, *numbers, configs=pairs(given.config, "--config"), replicas=placed)
    async with target.admin() as admin:
        if "." in given.topic or "_" in given.topic:
            print(
                "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. "
                "To avoid issues it is best to use either, but not both."
            )
        try:
            await admin.create_topics([topic])
        except KafkaError as error:
            if error.code is not KafkaCode.TOPIC_ALREADY_EXISTS or not given.if_not_exists:
                raise
        else:
            print(f"Created topic {given.topic}.")


async def _list(target: Target, given: Namespace) -> None:
    async with target.admin() as admin:
        names = await admin.list_topics(include_internal=not given.exclude_internal)
    for name in matching(names, given.topic):
        print(name)


async def _delete(target: Target, given: Namespace) -> None:
    async with target.admin() as admin:
        names = await _existing(admin, given)
        if names:
            await admin.delete_topics(names)


async def _alter(target: Target, given: Namespace) -> None:
    from tidelog.client import ConfigResource

    async with target.admin() as admin:
        for name in await _existing(admin, given):
            if given.partitions is not None:
                await admin.create_partitions(name, given.partitions)
            changes: dict[str, str | int | bool | None] = {
                **pairs(given.config, "--config"),
                **dict.fromkeys(given.delete_config),
            }
            if changes:
                await admin.alter_configs(ConfigResource.topic(name), changes)
                print(f"Updated config for topic {name}.")


async def _describe(target: Target, given: Namespace) -> None:
    from tidelog.cli.health import least_in_sync
    from tidelog.cli.topics import changed_settings

    picks = given.under_min_isr_partitions or given.at_min_isr_partitions
    async with target.admin() as admin:
        names = await _existing(admin, given)
        least = await least_in_sync(admin, set(names)) if picks else {}
        alive = {broker.id for broker in (await admin.describe_cluster()).brokers}
        for topic in (await admin.describe_topics(names)).values():
            partitions = [topic.partitions[number] for number in sorted(topic.partitions)]
            if _is_picking(given):
                _print_partitions([each for each in partitions if _is_picked(given, each, alive, least)])
                continue
            settings = await changed_settings(admin, topic.name)
            if given.topics_with_overrides and not settings:
                continue
            _print_topic(topic, settings)
            if not given.topics_with_overrides:
                _print_partitions(partitions)


async def _existing(admin: "Admin", given: Namespace) -> list[str]:
    from tidelog.client import KafkaCode, KafkaError

    names = await admin.list_topics(include_internal=not given.exclude_internal)
    found = matching(names, given.topic)
    if given.topic and not found and not given.if_exists:
        message = f"Topic '{given.topic}' does not exist as expected"
        raise KafkaError(KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    return found


def _is_picking(given: Namespace) -> bool:
    return bool(
        given.under_replicated_partitions
        or given.unavailable_partitions
        or given.under_min_isr_partitions
        or given.at_min_isr_partitions
    )


def _is_picked(given: Namespace, each: "PartitionInfo", alive: set[int], least: dict[str, int]) -> bool:
    if given.under_replicated_partitions and len(each.isr) < len(each.replicas):
        return True
    if given.unavailable_partitions and each.leader not in alive:
        return True
    wanted = least.get(each.topic, 1)
    return bool(
        (given.under_min_isr_partitions and len(each.isr) < wanted)
        or (given.at_min_isr_partitions and len(each.isr) == wanted)
    )


def _print_topic(topic: "TopicInfo", settings: dict[str, str | None]) -> None:
    from tidelog.cli.topics import replication_factor
    from tidelog.kafka.types import topic_id_text

    configs = ",".join(f"{name}={value}" for name, value in sorted(settings.items()))
    print(
        f"Topic: {topic.name}\tTopicId: {topic_id_text(topic.topic_id)}\tPartitionCount: {len(topic.partitions)}"
        f"\tReplicationFactor: {replication_factor(topic)}\tConfigs: {configs}"
    )


def _print_partitions(partitions: "list[PartitionInfo]") -> None:
    for each in partitions:
        leader = "none" if each.leader < 0 else each.leader
        replicas, isr = ",".join(map(str, each.replicas)), ",".join(map(str, each.isr))
        print(f"\tTopic: {each.topic}\tPartition: {each.partition}\tLeader: {leader}\tReplicas: {replicas}\tIsr: {isr}")


_ACTIONS = {"create": _create, "delete": _delete, "alter": _alter, "describe": _describe, "list": _list}
