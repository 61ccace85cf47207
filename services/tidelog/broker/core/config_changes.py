"""What becomes of stored entries when a client alters them, or why it is refused.

A client sends changes of single entries, or all entries anew; both come down to changes of what is stored. Everything
is checked before anything changes. What was stored before and is not touched is left alone, sound or not.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from tidelog.broker.core.live_config import BROKER_SETTINGS, TOPIC_SETTINGS, LiveConfig, Texts, is_changeable
from tidelog.kafka.configs.checks import Check, at_least
from tidelog.kafka.configs.faults import Fault
from tidelog.kafka.configs.kinds import LIST, split_list
from tidelog.kafka.configs.setting import Setting
from tidelog.kafka.errors import KafkaCode, KafkaError

# A cleaner that runs cannot be done away with, although a broker may be started without one.
_WHILE_RUNNING: Mapping[str, Check] = {"log.cleaner.threads": at_least(1)}


class Operation(IntEnum):
    """What is done to an entry, by the numbers of IncrementalAlterConfigs."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class Change:
    """One entry is to change."""

    name: str
    value: str | None
    operation: int = Operation.SET


def check_form(changes: Sequence[Change]) -> None:
    """Raises INVALID_REQUEST for changes that make no sense, whatever they are of. Comes before all else."""
    repeated = [name for name, count in Counter(change.name for change in changes).items() if count > 1]
    if repeated:
        raise KafkaError(KafkaCode.INVALID_REQUEST, f"changes {', '.join(repeated)} more than once")
    without = [change.name for change in changes if change.value is None and not _deletes(change)]
    if without:
        raise KafkaError(KafkaCode.INVALID_REQUEST, f"has no value for {', '.join(without)}")
    for change in changes:
        if change.operation not in list(Operation):
            raise KafkaError(KafkaCode.INVALID_REQUEST, f"there is no operation {change.operation}")


def altered_topic(live: LiveConfig, stored: Texts, changes: Sequence[Change]) -> dict[str, str]:
    """A topic's entries after the changes. Raises INVALID_CONFIG for what no topic may have."""
    unknown = [change.name for change in changes if change.name not in TOPIC_SETTINGS and not _deletes(change)]
    if unknown:
        raise KafkaError(KafkaCode.INVALID_CONFIG, f"{', '.join(unknown)} is not a setting of a topic")
    before = live.topic_with(stored)
    entries = _changed(stored, changes, TOPIC_SETTINGS, before.config)
    _refuse(KafkaCode.INVALID_CONFIG, live.topic_with(entries).faults, before.faults)
    return entries


def altered_broker(live: LiveConfig, stored: Texts, changes: Sequence[Change], *, for_all: bool) -> dict[str, str]:
    """The entries of this broker, or of all brokers, after the changes. Raises INVALID_REQUEST for bad ones."""
    _check_changeable(changes, for_all=for_all)
    with_entries: Callable[[Texts], Any] = (
        (lambda entries: live.broker_with(cluster=entries, own={}))
        if for_all
        else (lambda entries: live.broker_with(own=entries))
    )
    before = with_entries(stored)
    entries = _changed(stored, changes, BROKER_SETTINGS, before.config)
    after = with_entries(entries)
    _refuse(KafkaCode.INVALID_REQUEST, after.faults, before.faults)
    _refuse(KafkaCode.INVALID_REQUEST, _running_faults(after.config, changes), ())
    return entries


def _check_changeable(changes: Sequence[Change], *, for_all: bool) -> None:
    for change in changes:
        if _deletes(change) or is_changeable(change.name, for_all=for_all):
            continue
        if change.name not in BROKER_SETTINGS:
            why = "is not a setting of a broker"
        elif for_all and is_changeable(change.name, for_all=False):
            why = "can only be changed for each broker by itself"
        else:
            why = "cannot be changed while the broker runs"
        raise KafkaError(KafkaCode.INVALID_REQUEST, f"{change.name} {why}")


def _changed(stored: Texts, changes: Sequence[Change], settings: Mapping[str, Setting], config: Any) -> dict[str, str]:
    entries = dict(stored)
    for change in changes:
        if _deletes(change):
            entries.pop(change.name, None)
        elif change.operation == Operation.SET:
            entries[change.name] = change.value or ""
        else:
            entries[change.name] = _with_elements(change, settings[change.name], config)
    return entries


def _with_elements(change: Change, declared: Setting, config: Any) -> str:
    """A list with some elements more or less than it has now, whether by an entry or by default."""
    if declared.kind is not LIST:
        verb = "appended to" if change.operation == Operation.APPEND else "subtracted from"
        raise KafkaError(KafkaCode.INVALID_CONFIG, f"{change.name} is not a list, so nothing can be {verb} it")
    present: tuple[str, ...] = getattr(config, declared.attribute)
    named = tuple(filter(None, split_list(change.value or "")))
    if change.operation == Operation.APPEND:
        return ",".join(dict.fromkeys((*present, *named)))
    return ",".join(element for element in present if element not in named)


def _deletes(change: Change) -> bool:
    return change.operation == Operation.DELETE


def _refuse(code: KafkaCode, faults: Sequence[Fault], known: Sequence[Fault]) -> None:
    new = [fault for fault in faults if fault not in known]
    if new:
        raise KafkaError(code, "; ".join(map(str, new)))


def _running_faults(config: Any, changes: Sequence[Change]) -> list[Fault]:
    touched = {change.name for change in changes if not _deletes(change)} & _WHILE_RUNNING.keys()
    checked = [(BROKER_SETTINGS[name], _WHILE_RUNNING[name]) for name in sorted(touched)]
    values = [(declared, check, getattr(config, declared.attribute)) for declared, check in checked]
    return [
        Fault(declared.name, declared.text(value), "is not allowed while the broker runs", check.allowed)
        for declared, check, value in values
        if not check.accepts(value)
    ]
