"""`tidelog kafka-consumer-groups`."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.groups import check_without_members, named_partitions
from tidelog.cli.kafka_tools.columns import group_table
from tidelog.cli.kafka_tools.dialect import Flags, milliseconds, needed, one_of, run, target_of
from tidelog.cli.lag import describe_group, group_lags
from tidelog.cli.resetting import aim_of, plan
from tidelog.cli.target import Target

if TYPE_CHECKING:
    from tidelog.client import Admin, GroupDescription, TopicPartition
    from tidelog.client.core.cluster import Node

_AT = "--bootstrap-server localhost:9092"
_EXAMPLES = (
    f"{_AT} --list",
    f"{_AT} --describe --group readers",
    f"{_AT} --describe --group readers --members --verbose",
    f"{_AT} --describe --all-groups --state",
    f"{_AT} --reset-offsets --group readers --topic test --to-earliest --dry-run",
    f"{_AT} --reset-offsets --group readers --topic test:0 --shift-by -1 --execute",
    f"{_AT} --reset-offsets --group readers --all-topics --by-duration PT1H --export",
    f"{_AT} --delete --group readers",
)


def parser() -> Flags:
    flags = Flags("kafka-consumer-groups", "List, describe and delete groups, and reset their offsets.", _EXAMPLES)
    flags.addresses()
    flags.flags("list", "describe", "delete", "delete-offsets", "reset-offsets", "all-groups", "all-topics")
    flags.flags("members", "offsets", "verbose", "dry-run", "execute", "export", "new-consumer")
    flags.flags("to-earliest", "to-latest", "to-current")
    flags.values("to-datetime", "by-duration", "from-file")
    flags.numbers(to_offset=None, shift_by=None, timeout=None)
    flags.add_argument("--state", nargs="?", const="", metavar="STATES")
    flags.add_argument("--type", nargs="?", const="", metavar="TYPES")
    flags.lists("group", "topic")
    return flags


def main(arguments: list[str]) -> None:
    flags = parser()
    given = flags.parse_args(arguments)
    action = one_of(flags, given, "list", "describe", "delete", "delete-offsets", "reset-offsets")
    if action != "list" and not given.all_groups:
        needed(flags, given.group, "group")
    if action == "describe" and sum([given.members, given.offsets, given.state is not None]) > 1:
        flags.error("at most one of --members, --offsets and --state is wanted")
    if action == "reset-offsets" and given.dry_run and given.execute:
        flags.error("--dry-run and --execute do not go together")
    if action == "reset-offsets" and not given.topic and not given.all_topics and not given.from_file:
        flags.error("--topic or --all-topics is wanted")
    run(_ACTIONS[action](target_of(given, timeout_s=milliseconds(given.timeout)), given))


async def _list(target: Target, given: Namespace) -> None:
    states = [_STATES.get(state.lower(), state.title()) for state in _words(given.state)]
    types = {word.lower() for word in _words(given.type)}
    async with target.admin() as admin:
        found = await admin.list_groups(states=states)
    # Groups of the newer protocols there are none.
    names = [[each.group_id, _TYPE, each.state] for each in found if not types or _TYPE.lower() in types]
    if given.state is None and given.type is None:
        print("\n".join(name for name, *_ in names))
        return
    shown = [0, *([1] if given.type is not None else []), *([2] if given.state is not None else [])]
    rows = [[row[column] for column in shown] for row in (["GROUP", "TYPE", "STATE"], *names)]
    print(group_table([str(head) for head in rows[0]], rows[1:]).lstrip("\n"))


def _words(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


_TYPE = "Classic"
_STATES = {"preparingrebalance": "PreparingRebalance", "completingrebalance": "CompletingRebalance"}


async def _groups(admin: "Admin", given: Namespace) -> list[str]:
    return [each.group_id for each in await admin.list_groups()] if given.all_groups else list(given.group)


async def _describe(target: Target, given: Namespace) -> None:
    async with target.admin() as admin:
        for name in await _groups(admin, given):
            found = await describe_group(admin, name)
            if given.state is not None:
                _print_state(found, await admin.group_coordinator(name))
            elif given.members:
                _print_members(found, verbose=given.verbose)
            else:
                await _print_offsets(admin, found)


def _print_state(found: "GroupDescription", node: "Node") -> None:
    heads = ["GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"]
    where = f"{node.host}:{node.port} ({node.id})"
    print(group_table(heads, [[found.group_id, where, found.assignor, found.state, len(found.members)]]))


def _print_members(found: "GroupDescription", *, verbose: bool) -> None:
    if not found.members:
        print(f"\nConsumer group '{found.group_id}' has no active members.", file=sys.stderr)
        return
    heads = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", *(["ASSIGNMENT"] if verbose else [])]
    rows = [
        [
            found.group_id,
            each.member_id,
            each.host,
            each.client_id,
            len(each.partitions),
            *([_assignment(each.partitions)] if verbose else []),
        ]
        for each in found.members
    ]
    print(group_table(heads, rows))


def _assignment(partitions: "tuple[TopicPartition, ...]") -> str:
    topics: dict[str, list[str]] = {}
    for each in partitions:
        topics.setdefault(each.topic, []).append(str(each.partition))
    return ", ".join(f"{topic}({','.join(numbers)})" for topic, numbers in topics.items()) or "-"


async def _print_offsets(admin: "Admin", found: "GroupDescription") -> None:
    if not found.members:
        print(f"\nConsumer group '{found.group_id}' has no active members.", file=sys.stderr)
    heads = [
        "GROUP",
        "TOPIC",
        "PARTITION",
        "CURRENT-OFFSET",
        "LOG-END-OFFSET",
        "LAG",
        "CONSUMER-ID",
        "HOST",
        "CLIENT-ID",
    ]
    rows = [
        [
            each.group,
            each.topic,
            each.partition,
            each.current_offset,
            each.log_end_offset,
            each.lag,
            each.member_id,
            each.host,
            each.client_id,
        ]
        for each in await group_lags(admin, found)
    ]
    if rows:
        print(group_table(heads, rows))


async def _reset(target: Target, given: Namespace) -> None:
    aim = aim_of(
        to_earliest=given.to_earliest,
        to_latest=given.to_latest,
        to_current=given.to_current,
        to_offset=given.to_offset,
        to_datetime=given.to_datetime,
        by_duration=given.by_duration,
        shift_by=given.shift_by,
        from_file=Path(given.from_file) if given.from_file else None,
    )
    planned: dict[str, dict[TopicPartition, int]] = {}
    async with target.admin() as admin:
        for group in await _groups(admin, given):
            await check_without_members(admin, group)
            partitions = (
                [] if aim.offsets is not None else await named_partitions(admin, group, given.topic, given.all_topics)
            )
            planned[group] = await plan(admin, group, partitions, aim)
            if given.execute:
                await admin.alter_group_offsets(group, planned[group])
    _print_planned(planned, export=given.export, dry_run=not given.execute and not given.dry_run)


def _print_planned(planned: "dict[str, dict[TopicPartition, int]]", *, export: bool, dry_run: bool) -> None:
    if export:
        for offsets in planned.values():
            for each, offset in offsets.items():
                print(f"{each.topic},{each.partition},{offset}")
        return
    if dry_run:
        print("WARN: No action will be performed as the --execute option is missing.", file=sys.stderr)
    rows = [[group, *each, offset] for group, offsets in planned.items() for each, offset in offsets.items()]
    print(group_table(["GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"], rows))


async def _delete(target: Target, given: Namespace) -> None:
    async with target.admin() as admin:
        names = await _groups(admin, given)
        await admin.delete_groups(names)
    quoted = ", ".join(f"'{name}'" for name in names)
    print(f"Deletion of requested consumer groups ({quoted}) was successful.")


async def _delete_offsets(target: Target, given: Namespace) -> None:
    async with target.admin() as admin:
        for group in given.group:
            partitions = await named_partitions(admin, group, given.topic, all_topics=False)
            await admin.delete_group_offsets(group, partitions)
            print(f"Request succeed for deleting offsets with topic {', '.join(given.topic)} group {group}")
            print(group_table(["TOPIC", "PARTITION", "STATUS"], [[*each, "Successful"] for each in partitions]))


_ACTIONS = {
    "list": _list,
    "describe": _describe,
    "delete": _delete,
    "delete-offsets": _delete_offsets,
    "reset-offsets": _reset,
}
