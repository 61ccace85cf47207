"""Which settings each role knows, and whether a set of them is sound, before any process is started."""

from collections.abc import Collection, Iterable, Mapping

from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.controller import ControllerConfig
from tidelog.kafka.configs.faults import ConfigFaults
from tidelog.kafka.configs.group_coordinator import GroupCoordinatorConfig
from tidelog.kafka.configs.metadata import MetadataConfig
from tidelog.kafka.configs.reading import read_config
from tidelog.kafka.configs.setting import settings_of
from tidelog.kafka.configs.unknown import sort_out
from tidelog.local.faults import WrongUsageError
from tidelog.local.layout import Role

_CONFIG_TYPES: Mapping[Role, type] = {
    Role.CONTROLLER: ControllerConfig,
    Role.BROKER: BrokerConfig,
    Role.GROUP_COORDINATOR: GroupCoordinatorConfig,
    Role.METADATA: MetadataConfig,
}


def known_settings(role: Role) -> Collection[str]:
    """The names of the settings that a role has."""
    return settings_of(_CONFIG_TYPES[role]).keys()


def check_settings(role: Role, texts: Mapping[str, str]) -> None:
    """WrongUsageError with every fault that a process of this role would find in these settings."""
    try:
        read_config(_CONFIG_TYPES[role], texts)
    except ConfigFaults as faults:
        raise WrongUsageError(f"A {role} cannot run with these settings: {faults}.") from None


def unknown_sentences(names: Iterable[str]) -> list[str]:
    """One sentence for each setting that no role knows. As in Kafka that is no reason to refuse to start."""
    return [f"--config: {warning}." for warning in sort_out(BrokerConfig, names).warnings]
