"""From what a user gives (dotted names in a mapping, keyword arguments with underscores) to a config, or to its faults."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from tidelog.client.errors import ConfigError
from tidelog.kafka.configs.faults import ConfigFaults, Fault
from tidelog.kafka.configs.reading import read_config
from tidelog.kafka.configs.setting import Setting, settings_of

C = TypeVar("C")


def read_settings(config_type: type[C], settings: Mapping[str, Any] | None, given: Mapping[str, Any]) -> C:
    """Build a config of the SDK. A keyword argument wins over the mapping. Raises ConfigError with every fault."""
    known = settings_of(config_type)
    by_name = {**_dotted(settings or {}), **_dotted(given)}
    faults = [_stranger(name, known) for name in by_name if name not in known]
    texts = {name: _text(value) for name, value in by_name.items() if value is not None and name in known}
    try:
        config = read_config(config_type, texts)
    except ConfigFaults as found:
        raise ConfigError(_sentence([*faults, *found.faults])) from None
    if faults:
        raise ConfigError(_sentence(faults))
    return config


def _dotted(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in settings.items()}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value)


def _stranger(name: str, known: Mapping[str, Setting]) -> Fault:
    close = get_close_matches(name, list(known), n=1, cutoff=0.75)
    return Fault(name, None, "is not a setting of this client" + (f" (did you mean {close[0]}?)" if close else ""))


def _sentence(faults: list[Fault]) -> str:
    return "; ".join(map(str, faults))
