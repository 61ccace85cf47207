"""`tidelog health` and `tidelog may-stop`: is the cluster well, and would it stay so without one of its brokers."""

import asyncio
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidelog.cli.conditions import Trouble, troubles_now, troubles_without
from tidelog.cli.options import JsonOption
from tidelog.cli.printing import print_json
from tidelog.cli.target import Target, speaks
from tidelog.local.faults import LocalError, WrongUsageError

if TYPE_CHECKING:
    from tidelog.client import Admin
    from tidelog.client.core.cluster import PartitionInfo

_LOOK_INTERVAL_S = 0.5
_SHOWN_MAX = 20


@dataclass(frozen=True, slots=True)
class Health:
    """A cluster at one moment."""

    brokers: tuple[int, ...]
    missing: tuple[int, ...]
    partitions: int
    troubles: tuple[Trouble, ...]
    wanted: int | None

    @property
    def is_good(self) -> bool:
        return not self.missing and not self.troubles and len(self.brokers) >= (self.wanted or 1)

    def document(self) -> dict[str, Any]:
        return {
            "healthy": self.is_good,
            "brokers": list(self.brokers),
            "missing_brokers": list(self.missing),
            "partitions": self.partitions,
            "problems": [each.document() for each in self.troubles],
        }


@speaks
async def health(
    target: Target,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is healthy, up to --timeout.")] = False,
    brokers: Annotated[
        int | None, typer.Option("--brokers", min=1, help="How many must be there.", show_default=False)
    ] = None,
    json_output: JsonOption = False,
) -> None:
    """Tell whether all brokers are there and all partitions led and in sync. The exit code is 1 if not.

    Examples:

    - `tidelog health`
    - `tidelog health --wait --brokers 3 --timeout 60 --json`
    """
    seen = await _until_good(target, brokers) if wait else await _look_once(target, brokers)
    if json_output:
        print_json(seen.document())
    else:
        _tell(seen)
    if not seen.is_good:
        raise LocalError("The cluster is not healthy." if not wait else "The cluster did not become healthy in time.")


async def _look_once(target: Target, wanted: int | None) -> Health:
    async with target.admin() as admin:
        return await look(admin, wanted)


async def _until_good(target: Target, wanted: int | None) -> Health:
    """Look again and again, also at a cluster that cannot be reached yet."""
    from tidelog.client import KafkaError, RequestTimeoutError

    deadline = time.monotonic() + target.timeout_s
    while True:
        left_s = max(1.0, deadline - time.monotonic())
        try:
            seen = await _look_once(Target(target.bootstrap_server, target.settings, left_s), wanted)
        except (KafkaError, RequestTimeoutError):
            if time.monotonic() >= deadline:
                raise
        else:
            if seen.is_good or time.monotonic() >= deadline:
                return seen
        await asyncio.sleep(_LOOK_INTERVAL_S)


async def look(admin: "Admin", wanted: int | None = None) -> Health:
    """The health of a cluster as its metadata and the settings of troubled topics tell it."""
    partitions = await all_partitions(admin)
    brokers = (await admin.describe_cluster()).brokers
    alive = {broker.id for broker in brokers}
    missing = {replica for each in partitions for replica in each.replicas} - alive
    small = {each.topic for each in partitions if 0 < len(each.isr) < len(each.replicas)}
    troubles = troubles_now(partitions, await least_in_sync(admin, small))
    return Health(tuple(sorted(alive)), tuple(sorted(missing)), len(partitions), tuple(troubles), wanted)


async def all_partitions(admin: "Admin") -> "list[PartitionInfo]":
    """Every partition of every topic, internal ones included."""
    names = await admin.list_topics(include_internal=True)
    known = admin.metadata.view.topics
    return [known[name].partitions[number] for name in names for number in sorted(known[name].partitions)]


async def least_in_sync(admin: "Admin", topics: set[str]) -> dict[str, int]:
    """min.insync.replicas of topics."""
    from tidelog.client import ConfigResource

    name = "min.insync.replicas"
    found = {}
    for topic in sorted(topics):
        entries = await admin.describe_configs(ConfigResource.topic(topic), [name])
        found[topic] = int(entries[name].value or 1)
    return found


def _tell(seen: Health) -> None:
    state = "healthy" if seen.is_good else "not healthy"
    print(f"The cluster is {state}: {len(seen.brokers)} brokers, {seen.partitions} partitions.")
    if seen.missing:
        print(f"Missing brokers: {', '.join(map(str, seen.missing))}.")
    elif seen.wanted is not None and len(seen.brokers) < seen.wanted:
        print(f"Only {len(seen.brokers)} of {seen.wanted} brokers are there.")
    _tell_troubles(seen.troubles)


def _tell_troubles(troubles: tuple[Trouble, ...] | list[Trouble]) -> None:
    for each in troubles[:_SHOWN_MAX]:
        print(f"  {each}")
    if len(troubles) > _SHOWN_MAX:
        print(f"  and {len(troubles) - _SHOWN_MAX} more; --json has them all.")


class Stoppable(StrEnum):
    """What can be asked about."""

    BROKER = "broker"


@speaks
async def may_stop(
    target: Target,
    role: Annotated[Stoppable, typer.Argument(metavar="broker", show_default=False)],  # noqa: ARG001
    number: Annotated[int, typer.Argument(metavar="N", min=0, help="Its id.", show_default=False)],
    json_output: JsonOption = False,
) -> None:
    """Tell whether a broker may stop: yes, or which partitions would suffer. The exit code is 1 if it may not.

    Examples:

    - `tidelog may-stop broker 1`
    - `tidelog may-stop broker 1 --json`
    """
    async with target.admin() as admin:
        partitions = await all_partitions(admin)
        alive = [broker.id for broker in (await admin.describe_cluster()).brokers]
        if number not in alive:
            raise WrongUsageError(f"Broker {number} is not in the cluster: those that are there are {alive}.")
        there = {each.topic for each in partitions if number in each.isr and len(each.isr) > 1}
        suffering = troubles_without(number, partitions, await least_in_sync(admin, there))
    if json_output:
        print_json({"broker": number, "may_stop": not suffering, "partitions": [each.document() for each in suffering]})
    elif not suffering:
        print(f"Yes: broker {number} may stop.")
    else:
        print(f"No: if broker {number} stopped, {len(suffering)} partitions would suffer.")
        _tell_troubles(suffering)
    if suffering:
        raise LocalError(f"Broker {number} may not stop.")
