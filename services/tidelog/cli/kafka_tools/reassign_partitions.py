"""`tidelog kafka-reassign-partitions`."""

from argparse import Namespace
from pathlib import Path

from tidelog.cli.kafka_tools.dialect import Flags, milliseconds, needed, one_of, run, target_of
from tidelog.cli.kafka_tools.throttles import clear_throttles, set_throttles, throttled_replicas
from tidelog.cli.parsing import number_list
from tidelog.cli.reassigning import Progress, current_plan, plan_text, progress_of, propose, read_plan, read_topics
from tidelog.cli.target import Target

_AT = "--bootstrap-server localhost:9092"
_EXAMPLES = (
    f"{_AT} --generate --topics-to-move-json-file topics.json --broker-list 0,1,2",
    f"{_AT} --execute --reassignment-json-file moves.json",
    f"{_AT} --verify --reassignment-json-file moves.json",
    f"{_AT} --cancel --reassignment-json-file moves.json",
    f"{_AT} --list",
)


def parser() -> Flags:
    flags = Flags("kafka-reassign-partitions", "Move replicas between brokers.", _EXAMPLES)
    # Here --broker-list is a list of ids.
    flags.values("bootstrap-server", "zookeeper", "broker-list", "topics-to-move-json-file", "reassignment-json-file")
    flags.add_argument("--command-config", dest="client_config", metavar="FILE")
    flags.flags("generate", "execute", "verify", "cancel", "list", "additional", "disable-rack-aware")
    flags.flags("preserve-throttles")
    flags.numbers(timeout=None, throttle=-1)
    # Plans name no directories, so nothing moves between those of a broker.
    flags.ignored("replica-alter-log-dirs-throttle")
    return flags


def main(arguments: list[str]) -> None:
    flags = parser()
    given = flags.parse_args(arguments)
    action = one_of(flags, given, "generate", "execute", "verify", "cancel", "list")
    if action == "generate":
        needed(flags, given.topics_to_move_json_file, "topics-to-move-json-file")
        needed(flags, given.broker_list, "broker-list")
    elif action != "list":
        needed(flags, given.reassignment_json_file, "reassignment-json-file")
    target = target_of(Namespace(**{**vars(given), "broker_list": None}), timeout_s=milliseconds(given.timeout))
    run(_ACTIONS[action](target, given))


async def _generate(target: Target, given: Namespace) -> None:
    topics = read_topics(Path(given.topics_to_move_json_file))
    async with target.admin() as admin:
        current = await current_plan(admin, topics)
        brokers = number_list(given.broker_list)
        proposed = await propose(admin, topics, brokers, heed_racks=not given.disable_rack_aware)
    print(f"Current partition replica assignment\n{plan_text(current)}\n")
    print(f"Proposed partition reassignment configuration\n{plan_text(proposed)}")


async def _execute(target: Target, given: Namespace) -> None:
    wanted = read_plan(Path(given.reassignment_json_file))
    async with target.admin() as admin:
        every = await current_plan(admin, sorted({each.topic for each in wanted}))
        current = {each: replicas for each, replicas in every.items() if each in wanted}
        if given.throttle >= 0:
            brokers = {broker for plan in (current, wanted) for replicas in plan.values() for broker in replicas}
            await set_throttles(admin, throttled_replicas(current, wanted), sorted(brokers), given.throttle)
        await admin.alter_reassignments(wanted)
    print(f"Current partition replica assignment\n\n{plan_text(current)}\n")
    print("Save this to use as the --reassignment-json-file option during rollback")
    if given.throttle >= 0:
        warning = (
            "You must run --verify periodically, until the reassignment completes, to ensure the throttle is removed."
        )
        print(f"Warning: {warning}")
        print(f"The inter-broker throttle limit was set to {given.throttle} B/s")
    plural = "s" if len(wanted) > 1 else ""
    print(f"Successfully started partition reassignment{plural} for {','.join(map(str, sorted(wanted)))}")


async def _verify(target: Target, given: Namespace) -> None:
    wanted = read_plan(Path(given.reassignment_json_file))
    async with target.admin() as admin:
        found = await progress_of(admin, wanted)
        print("Status of partition reassignment:")
        for each in found:
            print(_STATES[each.progress].format(each.partition, ",".join(map(str, each.replicas))))
        if given.preserve_throttles:
            return
        # Limits are the cluster's: another move that is under way still needs them.
        if not await admin.list_reassignments():
            await clear_throttles(admin, {each.topic for each in wanted})


_STATES = {
    Progress.DONE: "Reassignment of partition {} is completed.",
    Progress.MOVING: "Reassignment of partition {} is still in progress.",
    Progress.DIFFERENT: "There is no active reassignment of partition {}, but its replicas are {}.",
    Progress.MISSING: "There is no partition {}.",
}


async def _cancel(target: Target, given: Namespace) -> None:
    wanted = read_plan(Path(given.reassignment_json_file))
    async with target.admin() as admin:
        moving = [each for each in await admin.list_reassignments() if each in wanted]
        if moving:
            await admin.alter_reassignments(dict.fromkeys(moving))
        if not given.preserve_throttles and not await admin.list_reassignments():
            await clear_throttles(admin, {each.topic for each in wanted})
    if moving:
        print(f"Successfully cancelled partition reassignments for: {','.join(map(str, sorted(moving)))}")
    else:
        print("None of the specified partition moves are active.")


async def _list(target: Target, given: Namespace) -> None:  # noqa: ARG001 - all actions take the same
    async with target.admin() as admin:
        moving = await admin.list_reassignments()
    if not moving:
        print("No partition reassignments found.")
        return
    print("Current partition reassignments:")
    for each, move in sorted(moving.items()):
        parts = [f"{each}: replicas: {','.join(map(str, move.replicas))}."]
        parts += [f"adding: {','.join(map(str, move.adding))}."] if move.adding else []
        parts += [f"removing: {','.join(map(str, move.removing))}."] if move.removing else []
        print(" ".join(parts))


_ACTIONS = {"generate": _generate, "execute": _execute, "verify": _verify, "cancel": _cancel, "list": _list}
