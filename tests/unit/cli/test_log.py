"""`tidelog log dump`: what people see of it."""

from pathlib import Path

import pytest

from tests.support.logs import LogOnDisk, append
from tidelog.cli import app


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    disk = LogOnDisk(tmp_path / "t-0")
    log = disk.open()
    append(log)
    log.close()
    return disk.path / "00000000000000000000.log"


def test_a_file_is_dumped(segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["log", "dump", str(segment), "--print-data-log"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Dumping {segment}"
    assert lines[-1].endswith("payload: v")


def test_files_are_shown_as_they_were_named(
    segment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(segment.parent)
    assert app.run(["log", "dump", segment.name, "00000000000000000000.index"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "00000000000000000000.index is empty."


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("00000000000000000009.log", None, "does not exist"),
        ("notes.txt", b"x", "is not a file of a log"),
        ("notes.log", b"x", "is not a file of a log"),
        ("00000000000000000009.log", bytes(100), "has no batch at position 0"),
        ("00000000000000000009.index", b"12345678", "which does not exist"),
    ],
)
def test_a_missing_or_foreign_file_is_one_sentence(
    tmp_path: Path, name: str, content: bytes | None, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    assert app.run(["log", "dump", str(file)]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"tidelog: {tmp_path}")
    assert told.count("\n") == 1
    assert sentence in told


def test_a_directory_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "00000000000000000000.log"
    directory.mkdir()
    assert app.run(["log", "dump", str(directory)]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["log", "dump"],
        ["log", "dump", "x.log", "--no-such-option"],
        ["log", "dump", "x.log", "--max-message-size", "0"],
        ["log", "dump", "x.log", "--offsets-decoder", "--transaction-log-decoder"],
        ["log", "dumb"],
    ],
)
def test_wrong_usage_is_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tidelog: ")
    assert printed.err.count("\n") == 1


def test_help_teaches_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["log", "dump", "--help"]) == 0
    assert "tidelog log dump" in capsys.readouterr().out.partition("Examples:")[2]
    assert app.run(["log", "--help"]) == 0
    assert " dump " in capsys.readouterr().out
