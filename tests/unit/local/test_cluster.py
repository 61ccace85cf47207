"""What `up` decides from its options and from what was there before, and the files it writes."""

import signal

import pytest

from tests.unit.local.conftest import StartSleeper
from tidelog.local.cluster import (
    Wishes,
    desired_shape,
    existing_shape,
    find_process,
    parse_connect,
    signal_process,
    write_files,
)
from tidelog.local.data_dir import DataDir
from tidelog.local.faults import LocalError, UnreachableError, WrongUsageError
from tidelog.local.layout import Counts, Role, Shape, lay_out
from tidelog.local.shape_file import load_shape
from tidelog.runtime.properties import parse_properties


def counts(shape: Shape) -> list[int]:
    return [len(shape.of(role)) for role in (Role.BROKER, Role.CONTROLLER, Role.GROUP_COORDINATOR, Role.METADATA)]


def test_a_new_cluster_has_the_documented_size() -> None:
    assert counts(desired_shape(Wishes(), None)) == [3, 2, 2, 1]


def test_what_is_not_asked_for_stays_as_it_was() -> None:
    before = desired_shape(Wishes(brokers=1, controllers=1, group_coordinators=0, port_base=20000), None)
    assert desired_shape(Wishes(), before) == before


def test_brokers_may_grow_but_not_shrink() -> None:
    before = desired_shape(Wishes(brokers=2), None)
    assert counts(desired_shape(Wishes(brokers=3), before))[0] == 3
    with pytest.raises(WrongUsageError, match="has 2 brokers"):
        desired_shape(Wishes(brokers=1), before)


def test_processes_without_data_may_become_fewer() -> None:
    assert counts(desired_shape(Wishes(controllers=1, metadata=0), lay_out(Counts())))[1:] == [1, 2, 0]


def test_an_external_zookeeper_is_remembered() -> None:
    before = desired_shape(Wishes(zookeeper="zk:2181"), None)
    assert desired_shape(Wishes(), before).zookeeper == "zk:2181"


def test_files_are_written_for_every_process(data_dir: DataDir) -> None:
    shape = lay_out(Counts(brokers=1))
    write_files(data_dir, shape, {"log.segment.bytes": "1048576", "zookeeper.session.timeout.ms": "6000"})
    assert load_shape(data_dir.cluster_file) == shape
    texts = {str(process): data_dir.settings_file(process).read_text() for process in shape.processes}
    broker, metadata = (parse_properties(texts[name]) for name in ("broker 0", "metadata 0"))
    assert broker["log.dirs"] == str(data_dir.root / "broker-0" / "data")
    assert broker["log.segment.bytes"] == "1048576"
    assert broker["offsets.topic.replication.factor"] == "1"
    assert "log.segment.bytes" not in parse_properties(texts["controller 0"])
    assert parse_properties(texts["controller 1"])["zookeeper.session.timeout.ms"] == "6000"
    assert metadata.keys() == {"metadata.id", "grpc.listener", "http.listener", "controllers"}
    assert f"dataDir={data_dir.root}/zookeeper-0/data\n" in texts["zookeeper 0"]


def test_a_bad_setting_writes_nothing(data_dir: DataDir) -> None:
    with pytest.raises(WrongUsageError):
        write_files(data_dir, lay_out(Counts()), {"log.segment.bytes": "many"})
    assert list(data_dir.root.iterdir()) == []


def test_a_file_that_cannot_be_read_is_told_and_kept(data_dir: DataDir) -> None:
    shape = lay_out(Counts())
    write_files(data_dir, shape, {})
    path = data_dir.settings_file(shape.of(Role.BROKER)[0])
    path.write_text("log.dirs=\\uXYZ\n")
    with pytest.raises(LocalError, match=r"broker\.properties cannot be read"):
        write_files(data_dir, shape, {})
    assert path.read_text() == "log.dirs=\\uXYZ\n"


def test_no_cluster_is_unreachable(data_dir: DataDir) -> None:
    with pytest.raises(UnreachableError, match="tidelog up"):
        existing_shape(data_dir)


def test_an_id_that_does_not_exist_is_a_wrong_use() -> None:
    shape = lay_out(Counts(), zookeeper="zk:2181")
    assert find_process(shape, Role.BROKER, 2).id == 2
    with pytest.raises(WrongUsageError, match="0, 1, 2"):
        find_process(shape, Role.BROKER, 3)
    with pytest.raises(WrongUsageError, match="none"):
        find_process(shape, Role.ZOOKEEPER, 0)


def test_a_killed_process_is_gone_when_the_command_returns(data_dir: DataDir, sleeper: StartSleeper) -> None:
    (broker, *_) = lay_out(Counts()).of(Role.BROKER)
    child = sleeper(broker)
    assert signal_process(data_dir, broker, signal.SIGKILL) == child.pid
    with pytest.raises(LocalError, match="broker 0 is not running"):
        signal_process(data_dir, broker, signal.SIGKILL)


@pytest.mark.parametrize(
    ("connect", "servers"),
    [
        ("localhost:2181", [("localhost", 2181)]),
        ("a:1,b:2/chroot/deep", [("a", 1), ("b", 2)]),
        ("[::1]:2181", [("::1", 2181)]),
    ],
)
def test_connect_strings(connect: str, servers: list[tuple[str, int]]) -> None:
    assert parse_connect(connect) == servers


@pytest.mark.parametrize("connect", ["localhost", ":2181", "a:1,", "a:x", ""])
def test_what_is_no_connect_string_is_a_wrong_use(connect: str) -> None:
    with pytest.raises(WrongUsageError, match="host:port"):
        parse_connect(connect)


def test_only_one_command_starts_processes_at_a_time(data_dir: DataDir) -> None:
    with data_dir.locked(), pytest.raises(LocalError, match="Another command"), data_dir.locked():
        pass
    with data_dir.locked():
        pass


def test_a_data_directory_that_cannot_be_written_is_told(data_dir: DataDir) -> None:
    (data_dir.root / "file").touch()
    with pytest.raises(LocalError, match="cannot be written"):
        DataDir(data_dir.root / "file" / "below").prepare()
