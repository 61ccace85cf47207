"""`tidelog log dump` prints the very lines of Kafka's DumpLogSegments, which finds nothing wrong with compacted logs."""

import subprocess
from pathlib import Path

import pytest

from tests.support import dump_samples
from tests.support.kafka_jars import kafka_jars
from tidelog.cli import app

pytestmark = pytest.mark.timeout(600)
SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
DUMP = "kafka.tools.DumpLogSegments"


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("samples")
    dump_samples.plain_log(root / "plain-0")
    dump_samples.compacted_log(root / "compacted-0")
    dump_samples.offsets_log(root / "__consumer_offsets-0")
    dump_samples.transactions_log(root / "__transaction_state-0")
    return root


def files_in(*directories: Path, suffixes: tuple[str, ...] = SUFFIXES) -> list[str]:
    return [str(file) for directory in directories for file in sorted(directory.iterdir()) if file.suffix in suffixes]


def by_kafka(options: list[str], files: list[str]) -> tuple[str, list[str]]:
    command = ["java", "-Xmx256m", "-Dstdout.encoding=UTF-8", "-Dfile.encoding=UTF-8", "-cp", f"{kafka_jars()}/*", DUMP]
    done = subprocess.run([*command, *options, "--files", ",".join(files)], capture_output=True, timeout=120)
    problems = [line for line in done.stderr.decode().splitlines() if not line.startswith(("log4j:", "SLF4J"))]
    assert done.returncode == 0, problems
    return done.stdout.decode(), problems


def by_us(options: list[str], files: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, list[str]]:
    capsys.readouterr()
    assert app.run(["log", "dump", *options, *files]) == 0
    printed = capsys.readouterr()
    return printed.out, printed.err.splitlines()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--deep-iteration"],
        ["--print-data-log"],
        ["--print-data-log", "--skip-record-metadata"],
        ["--verify-index-only"],
        ["--index-sanity-check"],
    ],
    ids=" ".join,
)
def test_all_files_of_a_log(samples: Path, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    files = files_in(samples / "plain-0", samples / "compacted-0")
    assert {Path(file).suffix for file in files} == set(SUFFIXES)
    theirs = by_kafka(options, files)
    assert by_us(options, files, capsys) == theirs
    assert "isvalid: true" in theirs[0]
    assert "isvalid: false" not in theirs[0]


@pytest.mark.parametrize("more", [[], ["--skip-record-metadata"]], ids=["", "--skip-record-metadata"])
@pytest.mark.parametrize(
    ("topic", "decoder"),
    [("__consumer_offsets-0", "--offsets-decoder"), ("__transaction_state-0", "--transaction-log-decoder")],
)
def test_records_of_the_coordinators(
    samples: Path, topic: str, decoder: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    files = files_in(samples / topic, suffixes=(".log",))
    theirs = by_kafka([decoder, *more], files)
    assert by_us([decoder, *more], files, capsys) == theirs
    assert "key: " in theirs[0]


def test_a_compacted_log_is_valid_and_its_indexes_agree(samples: Path) -> None:
    output, problems = by_kafka(["--deep-iteration"], files_in(samples / "compacted-0"))
    # That offsets are missing is the point of it.
    assert not [line for line in problems if not line.startswith(("Non-consecutive", "  ")) or "Index" in line]
    assert output.count("isvalid: true") == output.count("isvalid:") > 20
    assert "count: 0 " in output
    assert "deleteHorizonMs: OptionalLong[" in output
    assert output.count("offset: ") > 0
    sanity, _ = by_kafka(["--index-sanity-check"], files_in(samples / "compacted-0", suffixes=(".index", ".timeindex")))
    assert sanity.count("passed sanity check") + sanity.count("is empty") == sanity.count("Dumping ")


def test_bytes_behind_the_last_batch_are_counted(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "00000000000000000000.log"
    file.write_bytes((samples / "plain-0" / file.name).read_bytes()[:-5])
    theirs = by_kafka([], [str(file)])
    assert "invalid bytes at the end of 00000000000000000000.log" in theirs[0]
    assert by_us([], [str(file)], capsys) == theirs
