"""What holds of every setting of every process, and how faults are collected."""

from dataclasses import FrozenInstanceError, dataclass, fields
from typing import Any, ClassVar

import pytest

from tidelog.kafka.configs.checks import at_least, one_of
from tidelog.kafka.configs.faults import ConfigFaults, Fault
from tidelog.kafka.configs.kinds import BOOLEAN, DOUBLE, INT, LIST, LONG, PASSWORD, SHORT, STRING, Password
from tidelog.kafka.configs.reading import read_config
from tidelog.kafka.configs.setting import CLUSTER_WIDE, HIGH, REQUIRED, Rule, Setting, setting, settings_of
from tidelog.kafka.configs.topic import TopicConfig
from tidelog.kafka.configs.unknown import PROCESS_CONFIGS

CONFIGS = (*PROCESS_CONFIGS, TopicConfig)
STRICT_KINDS = (INT, SHORT, LONG, DOUBLE, BOOLEAN)
EVERY_SETTING = [(config_type, each) for config_type in CONFIGS for each in settings_of(config_type).values()]


def _name(part: type | Setting) -> str:
    return part.name if isinstance(part, Setting) else part.__name__


@pytest.mark.parametrize(("config_type", "each"), EVERY_SETTING, ids=_name)
def test_a_setting_is_whole_and_its_default_passes_its_own_check(config_type: type, each: Setting) -> None:
    declared = {field.name: field for field in fields(config_type)}
    assert declared[each.attribute].metadata["setting"] is each
    assert each.doc.endswith(".")
    if each.default is not None and not each.is_required:
        assert each.check.accepts(each.default)
        text = each.text(each.default)
        assert text is not None
        assert each.read(text) == each.default


@pytest.mark.parametrize(
    ("config_type", "each"), [(owner, each) for owner, each in EVERY_SETTING if each.kind in STRICT_KINDS], ids=_name
)
def test_a_text_that_is_no_value_of_the_kind_is_refused(config_type: type, each: Setting) -> None:
    with pytest.raises(ConfigFaults) as caught:
        read_config(config_type, {each.name: "not-a-value"})
    assert each.name in {fault.name for fault in caught.value.faults}


@pytest.mark.parametrize("config_type", CONFIGS)
def test_all_faults_are_listed_at_once(config_type: type) -> None:
    bad = {name: "not-a-value" for name, each in settings_of(config_type).items() if each.kind in STRICT_KINDS}
    with pytest.raises(ConfigFaults) as caught:
        read_config(config_type, bad)
    assert set(bad) <= {fault.name for fault in caught.value.faults}


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class Limits:
    """A theme, as several processes may share it."""

    __slots__ = ()

    low: int = setting("low", INT, 1, at_least(0), "Low.")
    high: int = setting("high", INT, 9, at_least(0), "High.", importance=HIGH, update=CLUSTER_WIDE)

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("low", "high"), lambda low, high: f"is above high={high}" if low > high else ""),
    )


NO_SECRET = Password("")


@dataclass(frozen=True, slots=True, kw_only=True)
class Example(Limits):
    """A process with one setting of each sort."""

    some_name: str = setting("some.name", STRING, REQUIRED, one_of("left", "right"), "A name.")
    some_list: tuple[str, ...] | None = setting("some.list", LIST, None, doc="A list.")
    secret: Password = setting("secret", PASSWORD, NO_SECRET, one_of("never"), "A secret.")  # noqa: RUF009 - a field, as above


def read(**texts: str) -> Any:
    return read_config(Example, {name.replace("_", "."): text for name, text in texts.items()})


def faults_of(**texts: str) -> tuple[Fault, ...]:
    with pytest.raises(ConfigFaults) as caught:
        read(**texts)
    return caught.value.faults


def test_defaults_fill_the_gaps_and_texts_are_trimmed() -> None:
    config = read(some_name=" left ", low="3")
    assert (config.low, config.high, config.some_name, config.some_list) == (3, 9, "left", None)


def test_a_config_is_frozen_and_has_no_dictionary() -> None:
    config = read(some_name="left")
    with pytest.raises(FrozenInstanceError):
        config.low = 2
    assert not hasattr(config, "__dict__")


def test_a_required_setting_must_be_given() -> None:
    (fault,) = faults_of()
    assert str(fault) == "some.name is required and was not given: it must be one of left, right"


def test_a_fault_names_the_value_and_what_is_allowed() -> None:
    assert [str(fault) for fault in faults_of(some_name="up", low="-1", high="x")] == [
        "low=-1 is not allowed: it must be at least 0",
        "high=x is not a whole number: it must be at least 0",
        "some.name=up is not allowed: it must be one of left, right",
    ]


def test_a_rule_is_checked_only_over_valid_values() -> None:
    assert [fault.name for fault in faults_of(some_name="left", low="x", high="0")] == ["low"]
    (fault,) = faults_of(some_name="left", low="5", high="4")
    assert str(fault) == "low=5 is above high=4"


def test_a_refused_secret_is_not_shown() -> None:
    (fault,) = faults_of(some_name="left", secret="hunter2")
    assert "hunter2" not in str(fault)


def test_an_optional_setting_without_a_text_is_not_set() -> None:
    assert read(some_name="left", some_list=" ").some_list is None


def test_a_setting_knows_its_variable() -> None:
    assert settings_of(Example)["some.name"].environment_variable == "TIDELOG_SOME_NAME"
