"""All logs of a broker: several directories, checkpoints, an orderly stop, a directory that fails."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from tests.support.batches import plain
from tests.support.logs import NOW, SMALL, append, offsets_of, read_from, stored
from tidelog.broker.log.files import Files
from tidelog.broker.log.flush import flush_now
from tidelog.broker.log.log_store import LogStore
from tidelog.broker.log.meta_properties import ForeignDirectoryError, MetaProperties, claim_directory, read_topic_id
from tidelog.broker.log.retention import delete_records
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerId, PartitionIndex, TopicName, TopicPartition, topic_id_text

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC_ID = UUID("12345678-1234-5678-1234-567812345678")


def tp(topic: str, partition: int = 0) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionIndex(partition))


class Broker:
    """Starts stores over the same directories."""

    def __init__(self, paths: list[Path], files: Files) -> None:
        self.paths = paths
        self.files = files
        self.failed: list[str] = []

    def start(self) -> LogStore:
        store = LogStore(
            self.files, [str(p) for p in self.paths], lambda _: SMALL, lambda path, _: self.failed.append(path)
        )
        store.load(NOW)
        return store


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker([tmp_path / "a", tmp_path / "b"], Files())


def checkpoint(path: Path) -> dict[str, int]:
    version, count, *lines = path.read_text().split("\n")
    assert (version, lines.pop()) == ("0", "")
    assert int(count) == len(lines)
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in lines}


def test_new_logs_go_to_the_directory_with_the_fewest(broker: Broker) -> None:
    store = broker.start()
    for n in range(4):
        store.create(tp("t", n), NOW)
    assert [len(d.logs) for d in store.dirs] == [2, 2]
    assert sorted(p.name for p in broker.paths[0].glob("t-*")) == ["t-0", "t-2"]
    assert len(store) == len(list(store)) == 4
    assert store.get(tp("t", 9)) is None


def test_a_new_log_has_the_files_of_kafka_and_its_topic_id(broker: Broker) -> None:
    store = broker.start()
    store.create(tp("t"), NOW, TOPIC_ID)
    path = broker.paths[0] / "t-0"
    assert {f.name for f in path.iterdir()} == {
        "00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex",
        "leader-epoch-checkpoint", "partition.metadata"}  # fmt: skip
    assert (path / "partition.metadata").read_text() == f"version: 0\ntopic_id: {topic_id_text(TOPIC_ID)}"
    assert (path / "leader-epoch-checkpoint").read_bytes() == b""
    assert read_topic_id(broker.files, str(path)) == TOPIC_ID


def test_an_orderly_stop_and_start(broker: Broker) -> None:
    store = broker.start()
    logs = [store.create(tp(f"topic-{n}"), NOW) for n in range(4)]
    for n, log in enumerate(logs):
        for _ in range(20 * n):
            append(log)
        log.update_high_watermark(10 * n)
    delete_records(logs[3], 25)
    before = {log.partition: (stored(log), log.log_start_offset, log.high_watermark) for log in store}
    store.close(NOW, broker_epoch=77)
    for path in broker.paths:
        assert json.loads((path / ".kafka_cleanshutdown").read_text()) == {"version": 0, "brokerEpoch": 77}
    assert checkpoint(broker.paths[1] / "recovery-point-offset-checkpoint") == {"topic-1 0": 20, "topic-3 0": 60}
    assert checkpoint(broker.paths[1] / "replication-offset-checkpoint") == {"topic-1 0": 10, "topic-3 0": 30}
    assert checkpoint(broker.paths[1] / "log-start-offset-checkpoint") == {"topic-3 0": 25}
    again = broker.start()
    assert not list(broker.paths[0].glob(".kafka*"))
    assert {log.partition: (stored(log), log.log_start_offset, log.high_watermark) for log in again} == before
    assert all(log.recovery_point == log.log_end_offset for log in again)


def test_a_crash_and_a_start(broker: Broker) -> None:
    store = broker.start()
    log = store.create(tp("t"), NOW)
    for _ in range(50):
        append(log)
    flush_now(log, NOW)
    for job in store.recovery_point_jobs():
        job.run(broker.files)
    for _ in range(5):
        append(log)
    again = broker.start().get(tp("t"))
    assert again is not None
    assert (again.recovery_point, again.log_end_offset) == (50, 55)


@pytest.mark.parametrize("name", ["recovery-point-offset-checkpoint", "replication-offset-checkpoint"])
@pytest.mark.parametrize("content", [b"", b"\0" * 30, b"0\n3\nt 0 5\n", b"0\n1\nt 0 x\n"])
def test_a_checkpoint_that_makes_no_sense_is_as_none(broker: Broker, name: str, content: bytes) -> None:
    store = broker.start()
    append(store.create(tp("t"), NOW))
    store.close(NOW)
    (broker.paths[0] / name).write_bytes(content)
    log = broker.start().get(tp("t"))
    assert log is not None
    assert offsets_of(read_from(log, 0)) == [0]


def test_a_deleted_log_is_renamed_and_removed_later(broker: Broker) -> None:
    store = broker.start()
    log = store.create(tp("t"), NOW)
    append(log)
    store.delete(tp("t"), NOW)
    assert store.get(tp("t")) is None
    (left,) = broker.paths[0].glob("t-0*")
    assert left.name.startswith("t-0.")
    assert left.name.endswith("-delete")
    assert len(left.name) == len("t-0.") + 32 + len("-delete")
    with pytest.raises(KafkaError):
        append(log)
    store.create(tp("t"), NOW)
    for removal in broker.start().trash.take_due(NOW):
        removal.run(broker.files)
    assert not left.exists()
    assert (broker.paths[0] / "t-0").exists()


def test_the_longest_topic_name_can_be_deleted(broker: Broker) -> None:
    store = broker.start()
    store.create(tp("x" * 249), NOW)
    store.delete(tp("x" * 249), NOW)
    assert len(store) == 0


def test_foreign_directories_are_left_alone(broker: Broker) -> None:
    broker.start()
    for name in ("lost+found", "t", "-0", "x-y", "t-0-stray"):
        (broker.paths[0] / name).mkdir()
    store = broker.start()
    assert len(store) == 0
    assert len(store.trash) == 0


class FailingFiles(Files):
    """Fails under a path from a moment on."""

    def __init__(self) -> None:
        self.broken = "?"

        def pwrite(fd: int, data: object, position: int) -> int:
            if self.broken in str(Path(f"/proc/self/fd/{fd}").readlink()):
                raise OSError(5, "Input/output error")
            return os.pwrite(fd, data, position)  # type: ignore[arg-type]

        self.pwrite = pwrite


def test_a_directory_that_fails_takes_only_its_own_logs_along(tmp_path: Path) -> None:
    files = FailingFiles()
    broker = Broker([tmp_path / "a", tmp_path / "b"], files)
    store = broker.start()
    logs = [store.create(tp("t", n), NOW) for n in range(4)]
    files.broken = str(tmp_path / "a")
    operations: list[Callable[[], object]] = [lambda: append(logs[0]), lambda: append(logs[2])]
    for operation in operations:
        with pytest.raises(KafkaError) as caught:
            operation()
        assert caught.value.code is KafkaCode.KAFKA_STORAGE_ERROR
    assert broker.failed == [str(tmp_path / "a")]
    assert append(logs[1]).first_offset == 0
    assert store.create(tp("u"), NOW).directory.startswith(str(tmp_path / "b"))
    assert [job.file.path for job in store.high_watermark_jobs()] == [f"{tmp_path}/b/replication-offset-checkpoint"]
    store.close(NOW)
    assert not (tmp_path / "a" / ".kafka_cleanshutdown").exists()
    assert (tmp_path / "b" / ".kafka_cleanshutdown").exists()


def test_a_directory_that_cannot_be_read_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("not a directory")
    broker = Broker([tmp_path / "a", tmp_path / "b"], Files())
    store = broker.start()
    assert broker.failed == [str(tmp_path / "a")]
    assert store.create(tp("t"), NOW).directory == f"{tmp_path}/b/t-0"


def test_without_any_directory_nothing_can_be_created(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("not a directory")
    store = Broker([tmp_path / "a"], Files()).start()
    with pytest.raises(KafkaError) as caught:
        store.create(tp("t"), NOW)
    assert caught.value.code is KafkaCode.KAFKA_STORAGE_ERROR


def test_an_older_checkpoint_never_overwrites_a_newer_one(broker: Broker) -> None:
    store = broker.start()
    log = store.create(tp("t"), NOW)
    (old, _), (new, _) = store.recovery_point_jobs(), store.recovery_point_jobs()
    append(log, plain())
    new.run(broker.files)
    written = Path(new.file.path).stat().st_mtime_ns
    old.run(broker.files)
    assert Path(new.file.path).stat().st_mtime_ns == written


def test_a_directory_has_one_owner(tmp_path: Path) -> None:
    files, owner = Files(), MetaProperties(BrokerId(3), "abc-_def")
    tmp_path /= "not/there/yet"
    claim_directory(files, str(tmp_path), owner)
    claim_directory(files, str(tmp_path), owner)
    text = (tmp_path / "meta.properties").read_text()
    assert set(text.split()) == {"version=0", "broker.id=3", "cluster.id=abc-_def"}
    (tmp_path / "meta.properties").write_text("#\n#Wed Nov 18 12:00:00 UTC 2026\n" + text)
    claim_directory(files, str(tmp_path), owner)
    for other in (MetaProperties(BrokerId(4), "abc-_def"), MetaProperties(BrokerId(3), "other")):
        with pytest.raises(ForeignDirectoryError):
            claim_directory(files, str(tmp_path), other)
    for content in ("", "version=1\nbroker.id=3\ncluster.id=a\n", "version=0\nbroker.id=x\ncluster.id=a\n"):
        (tmp_path / "meta.properties").write_text(content)
        with pytest.raises(ForeignDirectoryError):
            claim_directory(files, str(tmp_path), owner)


def test_many_logs_are_synced_at_once_when_they_are_closed(broker: Broker) -> None:
    store = broker.start()
    for n in range(140):
        append(store.create(tp("t", n), NOW))
    store.close(NOW)
    again = broker.start()
    assert len(again) == 140
    assert all(log.recovery_point == log.log_end_offset == 1 for log in again)
