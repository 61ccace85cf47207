"""Kafka's own DumpLogSegments reads what we wrote, and finds nothing wrong with it."""

import re
from pathlib import Path

import pytest

from tests.support.batches import batch
from tests.support.kafka_jars import run_java
from tests.support.logs import NOW, LogOnDisk, append
from tidelog.broker.log.config import LogConfig
from tidelog.broker.log.log import Log
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType, encode_marker
from tidelog.kafka.records.header import TRANSACTIONAL
from tidelog.kafka.records.record import Record

pytestmark = pytest.mark.timeout(600)
DUMP = "kafka.tools.DumpLogSegments"
BATCHES = 120


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every codec, headers, null keys and values, several epochs, transactions; rolled several times; stopped in order."""
    disk = LogOnDisk(
        tmp_path_factory.mktemp("dump") / "t-0",
        LogConfig(segment_bytes=4000, index_interval_bytes=300, retention_ms=-1),
    )
    log = disk.open(was_clean=True)
    for n in range(BATCHES):
        records = (
            Record(b"key-%d" % n, b"v" * 200, NOW + 5 * n, [(b"h", b"x"), (b"none", None)]),
            Record(None, b"w", NOW + 5 * n + 1),
            Record(b"z", None, NOW + 5 * n),
        )
        append(log, batch(*records, codec=Codec(n % len(Codec))), epoch=n // 20)
    for producer_id, kind in ((11, MarkerType.ABORT), (12, MarkerType.COMMIT), (11, MarkerType.ABORT)):
        transaction(log, producer_id, kind)
    log.close()
    return disk.path


def transaction(log: Log, producer_id: int, kind: MarkerType) -> None:
    known = log.producers.entries.get(producer_id)
    sequence = known.last_sequence + 1 if known else 0
    record = Record(b"k", b"v", NOW + 1000)
    append(log, batch(record, producer=(producer_id, 0), sequence=sequence, attributes=TRANSACTIONAL), epoch=3)
    marker = encode_marker(
        EndTransactionMarker(kind, 4), producer_id=producer_id, producer_epoch=0, timestamp=NOW + 1000
    )
    log.append_as_leader(marker, 3, NOW, from_coordinator=True)


def files(directory: Path, *suffixes: str) -> str:
    return ",".join(str(f) for f in sorted(directory.iterdir()) if f.suffix in suffixes)


def test_every_batch_and_record_is_valid(written: Path) -> None:
    output = run_java(DUMP, "--deep-iteration", "--print-data-log", "--files", files(written, ".log"))
    assert output.count("isvalid: true") == output.count("isvalid:") == BATCHES + 6
    assert len(re.findall(r"^\| offset: ", output, re.MULTILINE)) == 3 * BATCHES + 6
    assert output.count("endTxnMarker: ABORT coordinatorEpoch: 4") == 2
    assert output.count("endTxnMarker: COMMIT coordinatorEpoch: 4") == 1
    assert output.count("headerKeys: [h,none]") == BATCHES
    assert "invalid bytes" not in output


def test_indexes_agree_with_the_log(written: Path) -> None:
    """The tool compares each entry with the log and prints what does not match."""
    output = run_java(DUMP, "--files", files(written, ".index", ".timeindex"))
    assert output.count("offset: ") > 20
    assert not re.search("mismatch|out of order|not found|Exception", output, re.IGNORECASE)
    sanity = run_java(DUMP, "--index-sanity-check", "--files", files(written, ".index", ".timeindex"))
    assert sanity.count("passed sanity check") + sanity.count("is empty") == 2 * len(list(written.glob("*.log"))) > 6


def test_transactions_and_producers_are_read_back(written: Path) -> None:
    output = run_java(DUMP, "--files", files(written, ".txnindex", ".snapshot"))
    aborted = re.findall(r"producerId: 11 firstOffset: (\d+) lastOffset: (\d+) lastStableOffset: (\d+)", output)
    end = 3 * BATCHES
    assert aborted == [(str(end), str(end + 1), str(end + 2)), (str(end + 4), str(end + 5), str(end + 6))]
    newest = output[output.rindex("Dumping ") :]
    assert re.findall(r"producerId: (\d+) .*lastSequence: (\d+) lastOffset: (\d+)", newest) == [
        ("11", "1", str(end + 4)),
        ("12", "0", str(end + 2)),
    ]
