"""What AlterConfigs and IncrementalAlterConfigs have in common: a resource is altered as a whole, or refused."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tidelog.broker.core.config_changes import Change, altered_broker, altered_topic, check_form
from tidelog.broker.wire.config_resources import ALL_BROKERS, ResourceType, check_broker, check_topic, resource_type
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.zk.znodes import ConfigEntity

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from tidelog.broker.shell.config_store import ConfigStore
    from tidelog.kafka.cluster import ClusterView

    Alter = Callable[[ResourceType, str, Sequence[Change]], Awaitable[None]]

Outcome = tuple[int, str | None]


async def outcomes(wanted: Sequence[tuple[int, str, Sequence[Change]]], alter: Alter) -> list[Outcome]:
    """Alter one resource after the other; the code and the message for each."""
    counts = Counter((number, name) for number, name, _ in wanted)
    repeated: Outcome = (KafkaCode.INVALID_REQUEST, "A request may name a resource once.")
    return [repeated if counts[one[:2]] > 1 else await _outcome(alter, *one) for one in wanted]


async def _outcome(alter: Alter, number: int, name: str, changes: Sequence[Change]) -> Outcome:
    try:
        check_form(changes)
        await alter(resource_type(number), name, changes)
    except KafkaError as refusal:
        return refusal.code, refusal.message
    return KafkaCode.NONE, None


async def alter_stored(
    view: ClusterView,
    configs: ConfigStore,
    kind: ResourceType,
    name: str,
    changes: Sequence[Change],
    *,
    anew: bool,
    validate_only: bool,
) -> None:
    """Change the entries of a topic or of brokers; `anew` if the changes are to make up all of them."""

    def decide(stored: Mapping[str, str]) -> Mapping[str, str]:
        start = {} if anew else stored
        if kind is ResourceType.TOPIC:
            return altered_topic(configs.live, start, changes)
        return altered_broker(configs.live, start, changes, for_all=name == ALL_BROKERS)

    await configs.change(_entity(view, configs, kind, name), decide, validate_only=validate_only)


def _entity(view: ClusterView, configs: ConfigStore, kind: ResourceType, name: str) -> ConfigEntity:
    if kind is ResourceType.TOPIC:
        if not name:
            raise KafkaError(KafkaCode.INVALID_REQUEST, "There is no configuration of all topics.")
        check_topic(view, name)
        return ConfigEntity.topic(name)
    if kind is ResourceType.BROKER_LOGGER:
        raise KafkaError(KafkaCode.INVALID_REQUEST, "The levels of loggers can only be changed one by one.")
    if name != ALL_BROKERS:
        check_broker(configs.broker_id, name)
    return ConfigEntity.broker(None if name == ALL_BROKERS else configs.broker_id)
