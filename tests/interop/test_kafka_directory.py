"""We open the log directory that a real Kafka wrote: after its orderly stop, and as if it had crashed."""

import asyncio
import shutil
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.support.kafka_jars import kafka_broker, kafka_jars, run_java
from tests.support.logs import NOW, append, offsets_of, read_from, records_of, stored
from tidelog.broker.log.config import LogConfig
from tidelog.broker.log.files import Files
from tidelog.broker.log.log import Log
from tidelog.broker.log.log_store import LogStore
from tidelog.broker.log.meta_properties import read_topic_id
from tidelog.broker.log.reading import find_by_timestamp
from tidelog.cli import app
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition

pytestmark = pytest.mark.timeout(600)
SEGMENT_BYTES = 16384
CONFIG = LogConfig(segment_bytes=SEGMENT_BYTES, retention_ms=-1)
PARTITION = TopicPartition(TopicName("t"), PartitionIndex(0))
VALUES = [b"%d" % n * 50 for n in range(300)]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of a broker that took plain, compressed and transactional batches and stopped in order."""
    kafka_jars()
    root = tmp_path_factory.mktemp("kafka")
    with kafka_broker(root, SEGMENT_BYTES) as address:
        asyncio.run(fill(address))
    return root / "data"


async def fill(address: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=address)
    await admin.start()
    await admin.create_topics([NewTopic("t", 1, 1)])
    await admin.close()
    for number, codec in enumerate((None, "gzip", "snappy", "lz4", "zstd")):
        await produce(address, VALUES[number::6], compression_type=codec)
    await produce_transactions(address, VALUES[5::6])


async def produce(address: str, values: list[bytes], compression_type: str | None) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=address, compression_type=compression_type, enable_idempotence=True)
    async with producer:
        for number, value in enumerate(values):
            await producer.send_and_wait("t", value, timestamp_ms=NOW + number)


async def produce_transactions(address: str, values: list[bytes]) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=address, transactional_id="tx")
    async with producer:
        for number, value in enumerate(values):
            await producer.begin_transaction()
            await producer.send_and_wait("t", value, timestamp_ms=NOW + 1000 + number)
            await (producer.abort_transaction() if number % 5 == 0 else producer.commit_transaction())


def open_copy(written: Path, copy: Path, *, clean: bool) -> Log:
    shutil.copytree(written, copy)
    if not clean:
        (copy / ".kafka_cleanshutdown").unlink()
        (copy / "recovery-point-offset-checkpoint").unlink()
    store = LogStore(Files(), [str(copy)], lambda _: CONFIG, lambda _, error: pytest.fail(str(error)))
    store.load(NOW)
    log = store.get(PARTITION)
    assert log is not None
    return log


def files_of(directory: Path, *suffixes: str) -> dict[str, bytes]:
    return {f.name: f.read_bytes() for f in sorted(directory.iterdir()) if f.suffix in suffixes}


def test_a_stopped_kafka_is_read(written: Path, tmp_path: Path) -> None:
    log = open_copy(written, tmp_path / "copy", clean=True)
    assert len(log.segments) >= 3
    assert log.recovery_point == log.log_end_offset
    data = stored(log)
    assert sorted(r.value or b"" for r in records_of(data) if len(r.value or b"") >= 50) == sorted(VALUES)
    assert offsets_of(read_from(log, 0)) == list(range(log.log_end_offset))
    assert read_topic_id(Files(), log.directory) is not None
    assert log.epochs.latest_epoch == 0
    assert len(log.producers.entries) == 6
    found = find_by_timestamp(log, NOW + 1000)
    assert found is not None
    assert found.timestamp == NOW + 1000
    aborted = [entry for segment in log.segments for entry in segment.txn_index.entries()]
    assert len(aborted) == 10


def test_recovery_of_it_makes_the_same_files(written: Path, tmp_path: Path) -> None:
    clean = open_copy(written, tmp_path / "clean", clean=True)
    log = open_copy(written, tmp_path / "crashed", clean=False)
    assert (log.log_end_offset, stored(log)) == (clean.log_end_offset, stored(clean))
    made, theirs = Path(log.directory), written / "t-0"
    for suffix in (".log", ".index", ".timeindex", ".txnindex"):
        assert files_of(made, suffix) == files_of(theirs, suffix)
    assert producers(log) == producers(clean)


def producers(log: Log) -> dict[int, tuple[int, ...]]:
    return {
        pid: (
            e.producer_epoch,
            e.last_sequence,
            e.last_offset,
            e.txn_first_offset,
            e.coordinator_epoch,
            e.last_timestamp,
        )
        for pid, e in log.producers.entries.items()
    }


def test_kafka_reads_on_after_us(written: Path, tmp_path: Path) -> None:
    """We append to Kafka's log; its tool finds the whole valid."""
    log = open_copy(written, tmp_path / "copy", clean=False)
    for _ in range(5):
        append(log)
    log.close()
    names = ",".join(
        str(f) for f in sorted(Path(log.directory).iterdir()) if f.suffix in (".log", ".index", ".timeindex")
    )
    output = run_java("kafka.tools.DumpLogSegments", "--deep-iteration", "--files", names)
    assert "isvalid: false" not in output
    assert output.count("isvalid: true") > 300
    assert "mismatch" not in output.lower()


@pytest.mark.parametrize(
    ("directory", "option"),
    [
        ("t-0", "--print-data-log"),
        ("t-0", "--index-sanity-check"),
        ("__transaction_state-0", "--transaction-log-decoder"),
    ],
)
def test_our_dump_of_it_is_that_of_kafka(
    written: Path, directory: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    names = [str(file) for file in sorted((written / directory).iterdir()) if file.suffix in kinds]
    theirs = run_java("kafka.tools.DumpLogSegments", option, "--files", ",".join(names))
    assert app.run(["log", "dump", option, *names]) == 0
    assert capsys.readouterr().out == theirs
