"""What to say about names that a process's configuration has and the process does not."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.controller import ControllerConfig
from tidelog.kafka.configs.group_coordinator import GroupCoordinatorConfig
from tidelog.kafka.configs.metadata import MetadataConfig
from tidelog.kafka.configs.setting import Setting, settings_of
from tidelog.kafka.configs.unsupported import is_unsupported, unsupported_names

PROCESS_CONFIGS: tuple[type, ...] = (BrokerConfig, ControllerConfig, GroupCoordinatorConfig, MetadataConfig)


@dataclass(frozen=True, slots=True)
class Strangers:
    """Names that a process does not have: a sentence for each that deserves one, and those of other processes."""

    warnings: tuple[str, ...]
    of_other_processes: tuple[str, ...]


def sort_out(config_type: type, names: Iterable[str]) -> Strangers:
    """Tell slips of the pen and unsupported Kafka settings from settings that are meant for another process.

    One file or environment may serve all processes of a cluster, so the latter are no reason for a warning.
    """
    own, elsewhere = settings_of(config_type), _settings_of_all()
    strange = [name for name in names if name not in own]
    return Strangers(
        warnings=tuple(_warning(name, own) for name in strange if name not in elsewhere),
        of_other_processes=tuple(name for name in strange if name in elsewhere),
    )


def _settings_of_all() -> dict[str, Setting]:
    return {name: each for config_type in PROCESS_CONFIGS for name, each in settings_of(config_type).items()}


def _warning(name: str, own: Mapping[str, Setting]) -> str:
    if is_unsupported(name):
        return f"Kafka setting {name} is not supported by Tidelog and is ignored"
    if name.startswith("TIDELOG_"):
        variables = [each.environment_variable for each in own.values()]
        return f"environment variable {name} is not a setting's{_did_you_mean(name, variables)}"
    return f"unknown setting {name}{_did_you_mean(name, own)}"


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f" (did you mean {close[0]}?)" if close else ""


def variable_names() -> dict[str, str]:
    """The names of all settings, ours and Kafka's, by the environment variable that would carry each."""
    names = (*unsupported_names(), *_settings_of_all())
    return {"TIDELOG_" + name.replace(".", "_").upper(): name for name in names}
