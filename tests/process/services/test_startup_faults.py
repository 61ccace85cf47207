"""What keeps a process from starting is told in sentences, all of them at once, with a non-zero exit."""

import socket
from pathlib import Path

import pytest

from tests.support.services import Service, Services

BAD_CONFIGURATION, CANNOT_START = 2, 1

ROLES = ["broker", "controller", "group-coordinator", "metadata"]


def end_of(service: Service, code: int) -> str:
    """What it printed; it must end by itself with that code, and without a traceback."""
    assert service.process.wait(20) == code, service.text()
    assert "Traceback" not in service.text()
    return service.text()


@pytest.mark.parametrize("role", ROLES)
def test_all_bad_settings_are_listed_at_once(role: str, services: Services) -> None:
    services.make("controller", 9)
    service = services.start(
        role, 1, grpc_listener="nowhere", log_level="loud", shutdown_timeout_ms="soon", log_format="xml"
    )
    printed = end_of(service, BAD_CONFIGURATION)
    assert f"tidelog {role}: the configuration has 4 faults:" in printed
    for name in ("grpc.listener", "log.level", "shutdown.timeout.ms", "log.format"):
        assert sum(name in line for line in printed.splitlines()) == 1, f"{name} is not told once"


def test_what_a_setting_must_be_is_told_with_the_bad_value(services: Services) -> None:
    printed = end_of(services.start("broker", 1, log_segment_bytes="-3", broker_id="x"), BAD_CONFIGURATION)
    assert "log.segment.bytes" in printed
    assert "-3" in printed
    assert "broker.id" in printed


@pytest.mark.parametrize(
    ("role", "setting"),
    [(role, "grpc_listener") for role in ROLES]
    + [(role, "ops_listener") for role in ROLES[:3]]
    + [("metadata", "http_listener"), ("broker", "listeners")],
)
def test_a_taken_port_is_told_in_one_sentence(role: str, setting: str, services: Services) -> None:
    services.make("controller", 9)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        value = f"PLAINTEXT://{address}" if setting == "listeners" else address
        printed = end_of(services.start(role, 1, **{setting: value}), CANNOT_START)
    sentence = printed.splitlines()[-1]
    assert address in sentence
    assert setting.replace("_", ".") in sentence
    assert "address already in use" in sentence


def test_a_log_dir_that_cannot_be_written_is_told_in_one_sentence(services: Services, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    printed = end_of(services.start("broker", 1, log_dirs=str(tmp_path / "file" / "data")), CANNOT_START)
    assert f"cannot write to {tmp_path / 'file' / 'data'} (log.dirs)" in printed.splitlines()[-1]


def test_a_missing_configuration_file_is_told_in_one_sentence(services: Services, tmp_path: Path) -> None:
    service = services.make("broker", 1)
    service.settings = {}
    service.arguments = ["--config", str(tmp_path / "absent.properties")]
    assert "absent.properties" in end_of(service.start(), BAD_CONFIGURATION)


@pytest.mark.parametrize("role", ROLES)
def test_help_teaches(role: str, services: Services) -> None:
    service = services.make(role, 1)
    service.settings, service.arguments = {}, ["--help"]
    printed = end_of(service.start(), 0)
    assert "--config" in printed
    assert "--set" in printed
    assert "docs/config.md" in printed
