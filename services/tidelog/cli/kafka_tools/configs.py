"""`tidelog kafka-configs`."""

from argparse import Namespace
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.cli.kafka_tools.dialect import Flags, client_settings, one_of, run, target_of
from tidelog.cli.parsing import comma_pairs, pairs
from tidelog.cli.target import Target
from tidelog.local.faults import WrongUsageError

if TYPE_CHECKING:
    from tidelog.client import Admin, ConfigResource

_AT = "--bootstrap-server localhost:9092"
_EXAMPLES = (
    (
        f"{_AT} --alter --entity-type topics --entity-name test "
        "--add-config retention.ms=3600000,cleanup.policy=[compact,delete]"
    ),
    f"{_AT} --describe --entity-type topics --entity-name test",
    f"{_AT} --alter --topic test --delete-config retention.ms,cleanup.policy",
    f"{_AT} --describe --entity-type brokers --entity-name 1 --all",
    f"{_AT} --alter --entity-type clients --entity-name loader --add-config producer_byte_rate=1048576",
    f"{_AT} --describe --entity-type clients --entity-name loader",
)
_KINDS = {"topics": "topic", "brokers": "broker", "users": "user", "clients": "client-id", "ips": "ip"}
# The shorter forms that later versions of the tool have.
_SHORT = {"topic": "topics", "broker": "brokers", "user": "users", "client": "clients", "ip": "ips"}


@dataclass(frozen=True, slots=True)
class _Entity:
    """Whose settings: a name, or None for the default of the kind."""

    kind: str
    name: str | None

    def __str__(self) -> str:
        return f"default {self.kind}s in the cluster" if self.name is None else f"{self.kind} {self.name}"


def parser() -> Flags:
    flags = Flags("kafka-configs", "See and change the settings of topics, brokers, clients and users.", _EXAMPLES)
    flags.addresses()
    flags.flags("describe", "alter", "all", "force", *(f"{kind}-defaults" for kind in _SHORT if kind != "topic"))
    flags.add_argument("--entity-type", action="append", default=[], choices=list(_KINDS), metavar="TYPE")
    # Names and defaults belong to the types in their order.
    flags.add_argument("--entity-name", action="append", dest="entity_names", default=[], metavar="NAME")
    flags.add_argument("--entity-default", action="append_const", dest="entity_names", const=None)
    flags.values("add-config", "add-config-file", "delete-config", *_SHORT)
    return flags


def main(arguments: list[str]) -> None:
    flags = parser()
    given = flags.parse_args(arguments)
    action = one_of(flags, given, "describe", "alter")
    entities = _entities(flags, given)
    if action == "alter" and not (given.add_config or given.add_config_file or given.delete_config):
        flags.error("--alter wants --add-config, --add-config-file or --delete-config")
    work = _alter if action == "alter" else _describe
    run(work(target_of(given), entities, given))


def _entities(flags: Flags, given: Namespace) -> list[_Entity]:
    names: list[str | None] = list(given.entity_names)
    names += [None] * (len(given.entity_type) - len(names))
    found = [_Entity(_KINDS[kind], name) for kind, name in zip(given.entity_type, names, strict=False)]
    for short, kind in _SHORT.items():
        if getattr(given, short) is not None:
            found.append(_Entity(_KINDS[kind], getattr(given, short)))
        if getattr(given, f"{short}_defaults", False):
            found.append(_Entity(_KINDS[kind], None))
    if not found or len(names) > len(given.entity_type):
        flags.error("--entity-type and --entity-name are wanted, as many of one as of the other")
    return found


def _has_quotas(entities: list[_Entity]) -> bool:
    return entities[0].kind in ("user", "client-id", "ip")


async def _describe(target: Target, entities: list[_Entity], given: Namespace) -> None:
    async with target.admin() as admin:
        if _has_quotas(entities):
            wanted = {each.kind: each.name for each in entities if each.name is not None or given.entity_names}
            for entity, quotas in (await admin.describe_quotas(wanted)).items():
                who = ", ".join(f"{kind} '{name}'" if name else f"the default {kind}" for kind, name in entity)
                print(f"Quota configs for {who} are {', '.join(f'{key}={value}' for key, value in quotas.items())}")
            return
        for each in await _named(admin, entities[0]):
            await _describe_settings(admin, each, everything=given.all)


async def _named(admin: "Admin", entity: _Entity) -> list[_Entity]:
    """Without a name, all topics are meant."""
    if entity.kind == "topic" and entity.name is None:
        return [_Entity("topic", name) for name in await admin.list_topics(include_internal=True)]
    return [entity]


async def _describe_settings(admin: "Admin", entity: _Entity, *, everything: bool) -> None:
    if entity.kind == "topic" and entity.name is not None:
        await admin.describe_topics([entity.name])
    found = await admin.describe_configs(_resource(entity))
    print(f"{'All' if everything else 'Dynamic'} configs for {entity} are:")
    for name, each in sorted(found.items()):
        if everything or each.source.name.startswith("DYNAMIC"):
            sensitive = str(each.is_sensitive).lower()
            source = f"{each.source.name}_CONFIG:{name}={each.value}"
            print(f"  {name}={each.value} sensitive={sensitive} synonyms={{{source}}}")


async def _alter(target: Target, entities: list[_Entity], given: Namespace) -> None:
    added = client_settings(given.add_config_file) if given.add_config_file else {}
    added |= pairs(comma_pairs(given.add_config or ""), "--add-config")
    deleted = [name.strip() for name in (given.delete_config or "").split(",") if name.strip()]
    async with target.admin() as admin:
        if _has_quotas(entities):
            limits = {**{key: _number(key, value) for key, value in added.items()}, **dict.fromkeys(deleted)}
            await admin.alter_quotas({each.kind: each.name for each in entities}, limits)
        else:
            changes: dict[str, str | int | bool | None] = {**added, **dict.fromkeys(deleted)}
            await admin.alter_configs(_resource(entities[0]), changes)
    print(f"Completed updating config for {entities[0]}.")


def _number(key: str, text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        raise WrongUsageError(f"{key} is a number, not {text!r}.") from None


def _resource(entity: _Entity) -> "ConfigResource":
    from tidelog.client import ConfigResource

    if entity.kind == "topic":
        return ConfigResource.topic(entity.name or "")
    if entity.name is not None and not entity.name.isdecimal():
        raise WrongUsageError(f"{entity.name!r} is not the id of a broker.")
    return ConfigResource.broker(None if entity.name is None else int(entity.name))
