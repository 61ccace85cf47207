"""What is said about names that a process does not have."""

import pytest

from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.controller import ControllerConfig
from tidelog.kafka.configs.setting import settings_of
from tidelog.kafka.configs.unknown import PROCESS_CONFIGS, sort_out
from tidelog.kafka.configs.unsupported import is_unsupported, unsupported_names


def warning_about(name: str) -> str:
    (warning,) = sort_out(BrokerConfig, [name]).warnings
    return warning


@pytest.mark.parametrize("config_type", PROCESS_CONFIGS)
def test_no_setting_is_both_ours_and_unsupported(config_type: type) -> None:
    assert not unsupported_names() & set(settings_of(config_type))


@pytest.mark.parametrize(
    "name",
    ["ssl.keystore.location", "authorizer.class.name", "process.roles", "listener.name.inside.ssl.keystore.type"],
)
def test_a_setting_that_only_kafka_has_is_called_unsupported(name: str) -> None:
    assert is_unsupported(name)
    assert warning_about(name) == f"Kafka setting {name} is not supported by Tidelog and is ignored"


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("log.segment.byte", "log.segment.bytes"),
        ("retention.ms", "log.retention.ms"),
        ("zookeper.connect", "zookeeper.connect"),
        ("TIDELOG_LOG_SEGMENT_BYTE", "TIDELOG_LOG_SEGMENT_BYTES"),
    ],
)
def test_a_slip_of_the_pen_gets_a_proposal(slip: str, meant: str) -> None:
    assert warning_about(slip).endswith(f"(did you mean {meant}?)")


def test_a_name_like_no_other_gets_no_proposal() -> None:
    assert warning_about("colour") == "unknown setting colour"


def test_a_setting_of_another_process_is_no_reason_for_a_warning() -> None:
    strangers = sort_out(ControllerConfig, ["log.segment.bytes", "controller.id"])
    assert strangers.warnings == ()
    assert strangers.of_other_processes == ("log.segment.bytes",)
