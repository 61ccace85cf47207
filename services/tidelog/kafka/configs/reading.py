"""From the texts of a configuration to its frozen values, or to the list of everything that is wrong with it."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from tidelog.kafka.configs.faults import ConfigFaults, Fault
from tidelog.kafka.configs.setting import Setting, rules_of, settings_of

C = TypeVar("C")


def read_config(config_type: type[C], texts: Mapping[str, str]) -> C:
    """Build a config from texts by setting name, defaults filling the gaps; names it does not have are left alone.

    Raises ConfigFaults with all faults.
    """
    faults: list[Fault] = []
    values: dict[str, Any] = {}
    for name, declared in settings_of(config_type).items():
        try:
            values[name] = _value(declared, texts.get(name))
        except ConfigFaults as found:
            faults += found.faults
    faults += broken_rules(config_type, values)
    if faults:
        raise ConfigFaults(faults)
    return config_type(**{name.replace(".", "_"): value for name, value in values.items()})


def _value(declared: Setting, text: str | None) -> Any:
    # An optional setting with nothing after its "=" is one that is not set.
    if text is not None and (text.strip() or declared.default is not None):
        return declared.read(text)
    if declared.is_required:
        raise ConfigFaults([declared.fault(None, "is required and was not given")])
    return declared.default


def broken_rules(config_type: type, values: Mapping[str, Any]) -> Iterator[Fault]:
    """The faults between settings; a rule is left out where one of its settings has no valid value."""
    declared = settings_of(config_type)
    for rule in rules_of(config_type):
        if not all(name in values for name in rule.names):
            continue
        why = rule.find_fault(*(values[name] for name in rule.names))
        if why:
            first = rule.names[0]
            yield Fault(first, declared[first].text(values[first]), why)
