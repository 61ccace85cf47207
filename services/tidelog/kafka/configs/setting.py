"""How a setting is declared: `num_partitions: int = setting("num.partitions", INT, 1, at_least(1), "...")`.

A config class is a frozen dataclass whose fields are made by `setting`. Themes that several processes share are mixin
dataclasses with empty `__slots__`, so that a process's class can combine them and still hold its values in slots.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar, overload

from tidelog.kafka.configs.checks import ANY, Check
from tidelog.kafka.configs.faults import ConfigFaults, Fault
from tidelog.kafka.configs.kinds import PASSWORD, Kind

T = TypeVar("T")


class Required(Enum):
    """The default of a setting that has none and must be given."""

    REQUIRED = "required"


REQUIRED: Final = Required.REQUIRED


class Importance(Enum):
    """How much a setting matters to somebody who reads the list for the first time."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class UpdateMode(Enum):
    """Whether AlterConfigs may change a setting of a running broker, and for which brokers."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


HIGH: Final = Importance.HIGH
MEDIUM: Final = Importance.MEDIUM
LOW: Final = Importance.LOW
READ_ONLY: Final = UpdateMode.READ_ONLY
PER_BROKER: Final = UpdateMode.PER_BROKER
CLUSTER_WIDE: Final = UpdateMode.CLUSTER_WIDE


class ConfigSource(IntEnum):
    """Where an effective value comes from, by the numbers that DescribeConfigs uses."""

    UNKNOWN = 0
    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6


@dataclass(frozen=True, slots=True)
class Setting:
    """All that is known about a setting, apart from its value."""

    name: str
    kind: Kind[Any]
    default: Any
    check: Check
    doc: str
    importance: Importance
    update_mode: UpdateMode
    # Names of broker settings that give this topic setting its default; the first one that is set wins.
    synonyms: tuple[str, ...]

    @property
    def attribute(self) -> str:
        """The name of the field that holds the value."""
        return self.name.replace(".", "_")

    @property
    def environment_variable(self) -> str:
        return f"TIDELOG_{self.attribute.upper()}"

    @property
    def is_required(self) -> bool:
        return self.default is REQUIRED

    @property
    def is_sensitive(self) -> bool:
        return self.kind is PASSWORD

    def read(self, text: str) -> Any:
        """The value that a text stands for; raises ConfigFaults if it is none or not allowed."""
        trimmed = text.strip()
        try:
            value = self.kind.parse(trimmed)
        except ValueError as error:
            raise ConfigFaults([self.fault(trimmed, f"is not {error}")]) from None
        if not self.check.accepts(value):
            raise ConfigFaults([self.fault(trimmed, "is not allowed")])
        return value

    def fault(self, text: str | None, why: str) -> Fault:
        shown = "[hidden]" if self.is_sensitive and text is not None else text
        return Fault(self.name, shown, why, self.check.allowed)

    def text(self, value: Any) -> str | None:
        """A value as a user would write it; None where there is no value."""
        return None if value is None else self.kind.text(value)


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition over several settings of one class, checked once each of them is valid by itself."""

    names: tuple[str, ...]
    # Takes the values in the order of the names; returns why they do not go together, or "" if they do.
    find_fault: Callable[..., str]


@overload
def setting(
    name: str,
    kind: Kind[T],
    default: Literal[Required.REQUIRED],
    check: Check = ...,
    doc: str = ...,
    *,
    importance: Importance = ...,
    update: UpdateMode = ...,
    synonyms: tuple[str, ...] = ...,
) -> T: ...
@overload
def setting(
    name: str,
    kind: Kind[T],
    default: None,
    check: Check = ...,
    doc: str = ...,
    *,
    importance: Importance = ...,
    update: UpdateMode = ...,
    synonyms: tuple[str, ...] = ...,
) -> T | None: ...
@overload
def setting(
    name: str,
    kind: Kind[T],
    default: T,
    check: Check = ...,
    doc: str = ...,
    *,
    importance: Importance = ...,
    update: UpdateMode = ...,
    synonyms: tuple[str, ...] = ...,
) -> T: ...
def setting(
    name: str,
    kind: Kind[Any],
    default: Any,
    check: Check = ANY,
    doc: str = "",
    *,
    importance: Importance = MEDIUM,
    update: UpdateMode = READ_ONLY,
    synonyms: tuple[str, ...] = (),
) -> Any:
    """Declare a setting: a dataclass field that carries its Setting. A default of None means that it may stay unset."""
    declared = Setting(name, kind, default, check, doc, importance, update, synonyms)
    return field(default=MISSING if default is REQUIRED else default, metadata={"setting": declared})


def settings_of(config_type: type) -> Mapping[str, Setting]:
    """The settings of a config class by name, in the order of their declaration."""
    declared = (each.metadata["setting"] for each in fields(config_type))
    return MappingProxyType({each.name: each for each in declared})


def rules_of(config_type: type) -> tuple[Rule, ...]:
    """The rules of a config class and of every class it is made of."""
    return tuple(rule for part in reversed(config_type.__mro__) for rule in vars(part).get("rules", ()))
