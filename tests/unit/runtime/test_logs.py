"""Log lines: one record an event, in text and in JSON, whatever is in it."""

import json
import logging
from collections.abc import Iterator

import pytest

from tidelog.runtime import logs


@pytest.fixture(autouse=True)
def _logging_restored() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("tidelog")
    before = (list(root.handlers), root.level, ours.level)
    yield
    root.handlers[:], root.level, ours.level = before
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):
            logger.manager._clear_cache()  # type: ignore[attr-defined]
    logging.captureWarnings(capture=False)


def text_line(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line, without its timestamp."""
    (line,) = capsys.readouterr().err.splitlines()
    stamp, rest = line.split(" ", 1)
    assert len(stamp) == len("2026-11-18T12:00:00.123Z")
    assert stamp[10] == "T"
    assert stamp.endswith("Z")
    return rest


def json_line(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    (line,) = capsys.readouterr().err.splitlines()
    entry = json.loads(line)
    assert isinstance(entry, dict)
    return entry


def test_text_has_level_process_logger_event_and_ids(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("INFO", "text", "controller", 1)
    logs.get("controller").info("elected", epoch=5, controller_id=1)
    assert text_line(capsys) == "INFO  controller-1 controller: elected epoch=5 controller_id=1"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", "plain"),
        ("two words", '"two words"'),
        ("", '""'),
        ("a=b", '"a=b"'),
        ('say "hi"', r'"say \"hi\""'),
        ("line\nbreak", r'"line\nbreak"'),
        ("\x1b[31mred", r'"\u001b[31mred"'),
        (None, "None"),
        (1.5, "1.5"),
        ("grün", "grün"),
    ],
)
def test_text_quotes_what_would_not_read_as_one_value(
    capsys: pytest.CaptureFixture[str], value: object, shown: str
) -> None:
    logs.configure("INFO", "text", "broker", 0)
    logs.get("log").info("event", key=value)
    assert text_line(capsys) == f"INFO  broker-0 log: event key={shown}"


def test_json_is_one_object_with_everything_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("DEBUG", "json", "broker", 2)
    logs.get("log").debug("rolled", topic="a b", offset=7, event="a field of that name")
    entry = json_line(capsys)
    assert str(entry.pop("ts")).endswith("Z")
    assert entry == {
        "level": "DEBUG",
        "service": "broker",
        "instance": 2,
        "logger": "log",
        "event": "rolled",
        "fields": {"topic": "a b", "offset": 7, "event": "a field of that name"},
    }


def test_json_takes_values_that_json_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("INFO", "json", "broker", 0)
    cycle: list[object] = []
    cycle.append(cycle)
    logs.get("log").info("odd", nan=float("nan"), cycle=cycle, raw=b"\xff", keys={(1, 2): 3}, fine=1)
    fields = json_line(capsys)["fields"]
    assert isinstance(fields, dict)
    assert fields["fine"] == 1
    assert fields["nan"] == "nan"
    assert fields["raw"] == repr(b"\xff")


def test_an_exception_is_in_the_same_record(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("INFO", "json", "broker", 0)
    try:
        int("not\na number")
    except ValueError:
        logs.get("log").exception("append failed", topic="t")
    entry = json_line(capsys)
    assert "Traceback" in str(entry["error"])
    assert str(entry["error"]).endswith(r"ValueError: invalid literal for int() with base 10: 'not\na number'")


def test_a_failure_caught_elsewhere_keeps_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("INFO", "text", "broker", 0)
    with pytest.raises(ValueError, match="invalid literal") as caught:
        int("broken")
    logs.get("log").failure("task failed", caught.value, task="cleaner")
    first, *rest = capsys.readouterr().err.splitlines()
    assert first.endswith("ERROR broker-0 log: task failed task=cleaner")
    assert rest[0].startswith("Traceback")
    assert rest[-1] == "ValueError: invalid literal for int() with base 10: 'broken'"


def test_libraries_speak_in_the_same_format_from_warning_upwards(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("DEBUG", "text", "broker", 0)
    logging.getLogger("kazoo.client").info("connecting")
    logging.getLogger("kazoo.client").warning("lost %s\nafter %d ms", "localhost:2181", 5)
    assert text_line(capsys) == r'WARNING broker-0 kazoo.client: "lost localhost:2181\nafter 5 ms"'


def test_a_level_that_is_off_costs_no_formatting(capsys: pytest.CaptureFixture[str]) -> None:
    class Expensive:
        def __str__(self) -> str:
            raise AssertionError("formatted")

    logs.configure("WARNING", "text", "broker", 0)
    logger = logs.get("log")
    logger.info("event", value=Expensive())
    assert not logger.enabled(logging.INFO)
    assert capsys.readouterr().err == ""


def test_percent_signs_are_just_characters(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("INFO", "text", "broker", 0)
    logs.get("log").info("100%s done")
    assert text_line(capsys) == "INFO  broker-0 log: 100%s done"


def test_configuring_again_replaces_instead_of_doubling(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("INFO", "text", "broker", 0)
    logs.configure("info", "text", "broker", 1)
    logs.get("log").info("once")
    assert text_line(capsys) == "INFO  broker-1 log: once"
