"""The rules between a process's settings, and the values that are derived from several of them."""

from dataclasses import dataclass

import pytest

from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.controller import ControllerConfig
from tidelog.kafka.configs.faults import ConfigFaults
from tidelog.kafka.configs.group_coordinator import GroupCoordinatorConfig
from tidelog.kafka.configs.metadata import MetadataConfig
from tidelog.kafka.configs.reading import read_config
from tidelog.kafka.types import Endpoint

NEEDED = {"zookeeper.connect": "zk:2181", "log.dirs": "data"}


def broker(**texts: str) -> BrokerConfig:
    return read_config(BrokerConfig, NEEDED | {name.replace("_", "."): text for name, text in texts.items()})


def fault_of(texts: dict[str, str]) -> str:
    with pytest.raises(ConfigFaults) as caught:
        read_config(BrokerConfig, NEEDED | texts)
    (fault,) = caught.value.faults
    return str(fault)


@dataclass(frozen=True)
class Case:
    """Texts that are valid one by one, and the words in which they are refused together."""

    texts: dict[str, str]
    words: str


CASES = [
    Case({"listeners": "A://:1,A://:2", "listener.security.protocol.map": "A:PLAINTEXT"}, "names a listener twice: A"),
    Case(
        {"listeners": "PLAINTEXT://:1,B://:1", "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,B:PLAINTEXT"},
        "uses a port twice: 1",
    ),
    Case({"listeners": "INSIDE://:1"}, "listener.security.protocol.map does not have: INSIDE"),
    Case({"listeners": "SSL://:1"}, "not supported, only PLAINTEXT is: SSL (SSL)"),
    Case({"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, "nobody can connect to: PLAINTEXT://0.0.0.0:9092"),
    Case({"advertised.listeners": "PLAINTEXT://[::]:9092"}, "nobody can connect to: PLAINTEXT://[::]:9092"),
    Case({"advertised.listeners": "PLAINTEXT://a:1,PLAINTEXT://b:2"}, "names a listener twice: PLAINTEXT"),
    Case({"advertised.listeners": "OUTSIDE://a:1"}, "listeners does not have: OUTSIDE"),
    Case({"inter.broker.listener.name": "INSIDE"}, "is none of the listeners: PLAINTEXT"),
    Case({"control.plane.listener.name": "CONTROL"}, "is none of the listeners: PLAINTEXT"),
    Case({"control.plane.listener.name": "PLAINTEXT", "inter.broker.listener.name": "PLAINTEXT"}, "is also the"),
    Case({"queued.max.request.bytes": "5"}, "is below socket.request.max.bytes=104857600"),
    Case({"max.connections.per.ip": "0"}, "lets nobody connect"),
    Case({"connections.max.idle.ms": "100"}, "is not below connections.max.idle.ms=100"),
    Case({"log.dirs": "a,,b"}, "has an empty directory"),
    Case({"log.dirs": ""}, "log.dirs is required"),
    Case({"log.retention.minutes": "0"}, "keeps nothing"),
    Case({"log.cleaner.threads": "128"}, "leaves each of 128 cleaners"),
    Case(
        {"log.cleaner.min.compaction.lag.ms": "5", "log.cleaner.max.compaction.lag.ms": "4"}, "is above log.cleaner.max"
    ),
    Case(
        {"replica.fetch.wait.max.ms": "30000", "replica.lag.time.max.ms": "29999"}, "is above replica.lag.time.max.ms"
    ),
    Case(
        {"replica.fetch.wait.max.ms": "30000", "replica.socket.timeout.ms": "1"}, "is above replica.socket.timeout.ms"
    ),
    Case({"group.min.session.timeout.ms": "7", "group.max.session.timeout.ms": "6"}, "is above group.max.session"),
    Case({"offsets.commit.required.acks": "4"}, "is above offsets.topic.replication.factor=3"),
    Case({"broker.id": "1001"}, "is above reserved.broker.max.id=1000"),
    Case({"broker.id": "-1", "broker.id.generation.enable": "false"}, "asks for a generated number"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_settings_that_do_not_go_together_are_refused(case: Case) -> None:
    assert case.words in fault_of(case.texts)


@pytest.mark.parametrize(
    "name_and_text",
    [
        "listeners=9092",
        "listeners=",
        "zookeeper.connect=",
        "zookeeper.connect=/kafka",
        "zookeeper.connect=zk:2181//a",
        "listener.security.protocol.map=A:TELNET",
        "security.inter.broker.protocol=SSL",
        "max.connections.per.ip.overrides=h:many",
        "grpc.listener=9190",
        "grpc.advertised.listener=0.0.0.0:9190",
        "grpc.advertised.listener=:9190",
        "log.level=loud",
        "compression.gzip.level=0",
        "socket.send.buffer.bytes=0",
        "log.cleanup.policy=delete,forget",
        "broker.id=-2",
    ],
)
def test_values_outside_their_bounds_are_refused(name_and_text: str) -> None:
    name, _, text = name_and_text.partition("=")
    assert name in fault_of({name: text})


def test_no_kafka_listener_may_have_the_name_of_the_grpc_endpoint() -> None:
    settings = {"listeners": "GRPC://:9092", "listener.security.protocol.map": "GRPC:PLAINTEXT"}
    assert "uses the name GRPC" in fault_of(settings)


def test_without_a_directory_a_broker_does_not_start() -> None:
    with pytest.raises(ConfigFaults, match=r"log\.dirs is required, or log\.dir"):
        read_config(BrokerConfig, {"zookeeper.connect": "zk:2181"})


def test_the_finest_unit_of_retention_wins() -> None:
    assert broker().log_retention_time_ms == 168 * 3_600_000
    assert broker(log_retention_minutes="5").log_retention_time_ms == 300_000
    assert broker(log_retention_minutes="5", log_retention_ms="7").log_retention_time_ms == 7
    assert broker(log_retention_ms="-5").log_retention_time_ms == -1


def test_the_finest_unit_of_rolling_and_flushing_wins() -> None:
    config = broker(log_roll_ms="5", log_roll_jitter_ms="0", log_roll_jitter_hours="3", log_flush_interval_ms="0")
    assert (config.log_roll_time_ms, config.log_roll_jitter_time_ms, config.log_flush_time_ms) == (5, 0, 0)
    config = broker(log_roll_hours="2", log_roll_jitter_hours="1", log_flush_scheduler_interval_ms="9")
    assert (config.log_roll_time_ms, config.log_roll_jitter_time_ms) == (7_200_000, 3_600_000)
    assert config.log_flush_time_ms == 9


def test_several_directories_win_over_one() -> None:
    assert broker(log_dirs="a, b", log_dir="c").log_directories == ("a", "b")
    assert broker(log_dirs="", log_dir="c").log_directories == ("c",)


def test_clients_are_told_this_machines_name_where_a_listener_has_none() -> None:
    config = broker(
        listeners="PLAINTEXT://:1,B://h:2,C://0.0.0.0:3",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,b:plaintext,C:PLAINTEXT",
    )
    told = [str(each) for each in config.advertised_endpoints("me")]
    assert told == ["PLAINTEXT://me:1", "B://h:2", "C://me:3"]
    assert config.security_protocols == {"PLAINTEXT": "PLAINTEXT", "B": "PLAINTEXT", "C": "PLAINTEXT"}
    assert config.inter_broker_listener == "PLAINTEXT"


def test_clients_are_told_the_advertised_listeners() -> None:
    config = broker(advertised_listeners="PLAINTEXT://outside:19092")
    assert config.advertised_endpoints("me") == (Endpoint("PLAINTEXT", "outside", 19092),)


@pytest.mark.parametrize(
    ("listener", "advertised", "expected"),
    [(":9190", "", "me:9190"), ("[::1]:9190", "", "[::1]:9190"), (":9190", "grpc.example:443", "grpc.example:443")],
)
def test_others_are_told_a_grpc_address_they_can_reach(listener: str, advertised: str, expected: str) -> None:
    config = broker(grpc_listener=listener, grpc_advertised_listener=advertised)
    assert config.advertised_grpc_address("me") == expected


@pytest.mark.parametrize(
    ("text", "servers", "chroot"),
    [
        ("zk:2181", "zk:2181", ""),
        ("zk:2181/", "zk:2181", ""),
        ("a:1, [::1]:2 ,c/kafka/one", "a:1,[::1]:2,c", "/kafka/one"),
    ],
)
def test_zookeeper_connect_has_servers_and_a_chroot(text: str, servers: str, chroot: str) -> None:
    config = broker(zookeeper_connect=text)
    assert (config.zookeeper_servers, config.zookeeper_chroot) == (servers, chroot)


def test_the_first_connection_may_take_as_long_as_a_session() -> None:
    assert broker().zookeeper_connection_time_ms == 18000
    assert broker(zookeeper_connection_timeout_ms="5").zookeeper_connection_time_ms == 5


def test_single_addresses_may_have_their_own_limits() -> None:
    assert broker(max_connections_per_ip_overrides="h:5,::1:0").connection_limits == {"h": 5, "::1": 0}


def test_a_controller_needs_its_number_and_zookeeper() -> None:
    with pytest.raises(ConfigFaults) as caught:
        read_config(ControllerConfig, {})
    assert {fault.name for fault in caught.value.faults} == {"controller.id", "zookeeper.connect"}
    config = read_config(ControllerConfig, {"controller.id": "1", "zookeeper.connect": "zk"})
    assert config.early_fencing_enable


def test_a_coordinator_shares_the_settings_of_groups_and_transactions() -> None:
    config = read_config(GroupCoordinatorConfig, {"coordinator.id": "0", "zookeeper.connect": "zk"})
    assert (config.group_max_session_timeout_ms, config.transaction_max_timeout_ms) == (1_800_000, 900_000)


def test_a_metadata_process_knows_controllers_and_no_zookeeper() -> None:
    config = read_config(MetadataConfig, {"controllers": "a:1,b:2"})
    assert config.controllers == ("a:1", "b:2")
    assert config.ops_listener == ""
    assert not hasattr(config, "zookeeper_connect")


@pytest.mark.parametrize("text", ["", "a", "a:1,,b:2"])
def test_controllers_must_be_addresses(text: str) -> None:
    with pytest.raises(ConfigFaults, match="controllers"):
        read_config(MetadataConfig, {"controllers": text})
