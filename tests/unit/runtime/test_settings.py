"""Where settings come from, and which source wins."""

from pathlib import Path

import pytest

from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.controller import ControllerConfig
from tidelog.runtime.settings import ConfigFaults, Loaded, load_config

KAFKA_FILE = """\
# A broker of Kafka 2.8 as it comes, with security switched on.
broker.id=0
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kafka-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
#log.flush.interval.messages=10000
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
zookeeper.connect=localhost:2181
zookeeper.connection.timeout.ms=18000
group.initial.rebalance.delay.ms=0
ssl.keystore.location=/etc/kafka/keystore.jks
sasl.enabled.mechanisms=PLAIN
authorizer.class.name=kafka.security.authorizer.AclAuthorizer
"""

NEEDED = {"zookeeper.connect": "zk:2181", "log.dirs": "data"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(KAFKA_FILE)
    return path


def load(
    *, file: Path | None = None, environ: dict[str, str] | None = None, overrides: dict[str, str] | None = None
) -> Loaded[BrokerConfig]:
    return load_config(BrokerConfig, file=file, environ=environ or {}, overrides=overrides or {})


def load_needed(environ: dict[str, str]) -> Loaded[BrokerConfig]:
    return load(environ=environ, overrides=NEEDED)


def test_a_kafka_brokers_file_loads_with_a_warning_for_each_setting_that_is_not_supported(file: Path) -> None:
    loaded = load(file=file)
    assert loaded.config.broker_id == 0
    assert loaded.config.log_directories == ("/tmp/kafka-logs",)
    assert loaded.config.transaction_state_log_min_isr == 1
    assert loaded.config.group_initial_rebalance_delay_ms == 0
    assert loaded.config.zookeeper_connection_time_ms == 18000
    assert loaded.warnings == tuple(
        f"Kafka setting {name} is not supported by Tidelog and is ignored"
        for name in ("ssl.keystore.location", "sasl.enabled.mechanisms", "authorizer.class.name")
    )


def test_the_command_line_wins_over_the_environment_over_the_file_over_the_defaults(file: Path) -> None:
    environ = {"TIDELOG_NUM_PARTITIONS": "2", "TIDELOG_BROKER_ID": "2", "PATH": "elsewhere"}
    config = load(file=file, environ=environ, overrides={"broker.id": "3"}).config
    assert (config.broker_id, config.num_partitions, config.num_io_threads, config.queued_max_requests) == (
        3,
        2,
        8,
        500,
    )


def test_without_any_source_everything_required_is_missing() -> None:
    with pytest.raises(ConfigFaults) as caught:
        load()
    assert [fault.name for fault in caught.value.faults] == ["zookeeper.connect", "log.dirs"]


def test_faults_of_all_sources_are_listed_at_once(file: Path) -> None:
    file.write_text("num.partitions=0\nbroker.id=one\n")
    with pytest.raises(ConfigFaults) as caught:
        load(file=file, environ={"TIDELOG_NUM_IO_THREADS": "-1"}, overrides={"log.level": "loud"})
    names = {fault.name for fault in caught.value.faults}
    assert names == {"num.partitions", "broker.id", "num.io.threads", "log.level", "zookeeper.connect", "log.dirs"}


def test_a_missing_file_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigFaults) as caught:
        load(file=tmp_path / "absent")
    assert (
        str(caught.value) == f"the configuration file {tmp_path / 'absent'} cannot be read: No such file or directory"
    )


def test_a_file_that_is_none_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigFaults, match="cannot be read: Is a directory"):
        load(file=tmp_path)


@pytest.mark.parametrize(("content", "words"), [(b"a=\xff", "it is not UTF-8 text"), (b"a=\\u1", "four hexadecimal")])
def test_a_file_that_cannot_be_parsed_is_one_clear_sentence(file: Path, content: bytes, words: str) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigFaults, match=words):
        load(file=file)


def test_slips_of_the_pen_are_warned_of_wherever_they_stand(file: Path) -> None:
    file.write_text("num.partition=4\n")
    loaded = load(file=file, environ={"TIDELOG_BROKER_IDS": "1"}, overrides=NEEDED | {"log.levels": "info"})
    assert loaded.warnings == (
        "unknown setting num.partition (did you mean num.partitions?)",
        "environment variable TIDELOG_BROKER_IDS is not a setting's (did you mean TIDELOG_BROKER_ID?)",
        "unknown setting log.levels (did you mean log.level?)",
    )


def test_unsupported_settings_are_known_in_the_environment_too() -> None:
    loaded = load_needed({"TIDELOG_SSL_KEYSTORE_LOCATION": "x"})
    assert loaded.warnings == ("Kafka setting ssl.keystore.location is not supported by Tidelog and is ignored",)


def test_the_variables_that_kubernetes_sets_for_services_are_passed_over() -> None:
    links = {
        "TIDELOG_PORT": "tcp://10.0.0.1:9092",
        "TIDELOG_BROKER_SERVICE_HOST": "10.0.0.1",
        "TIDELOG_BROKER_SERVICE_PORT": "9092",
        "TIDELOG_BROKER_SERVICE_PORT_KAFKA": "9092",
        "TIDELOG_BROKER_PORT_9092_TCP": "tcp://10.0.0.1:9092",
        "TIDELOG_BROKER_PORT_9092_TCP_ADDR": "10.0.0.1",
    }
    assert load_needed(links).warnings == ()


def test_one_file_may_serve_every_process(file: Path) -> None:
    file.write_text("broker.id=1\ncontroller.id=2\nzookeeper.connect=zk:2181\n")
    loaded = load_config(ControllerConfig, file=file, environ={"TIDELOG_LOG_DIRS": "d"}, overrides={})
    assert loaded.config.controller_id == 2
    assert loaded.warnings == ()
    assert loaded.of_other_processes == ("broker.id", "log.dirs")
