"""Ports and shapes: fixed by default, packed on demand, never two processes on one port."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.local.faults import WrongUsageError
from tidelog.local.layout import Counts, Listener, Role, Shape, lay_out, listening_ports


def ports(shape: Shape) -> list[int]:
    return [port for port, _ in listening_ports(shape)]


def test_default_ports_are_the_documented_ones() -> None:
    shape = lay_out(Counts())
    assert shape.bootstrap == "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094"
    assert shape.zookeeper == "127.0.0.1:2181"
    assert shape.console == "http://127.0.0.1:8080"
    assert shape.addresses(Role.BROKER, Listener.GRPC)[0] == "127.0.0.1:9192"
    assert shape.addresses(Role.BROKER, Listener.HTTP)[0] == "127.0.0.1:9292"
    assert shape.addresses(Role.CONTROLLER, Listener.GRPC) == ["127.0.0.1:9392", "127.0.0.1:9393"]
    assert shape.addresses(Role.CONTROLLER, Listener.HTTP)[0] == "127.0.0.1:9492"
    assert shape.addresses(Role.GROUP_COORDINATOR, Listener.KAFKA)[0] == "127.0.0.1:9592"
    assert shape.addresses(Role.GROUP_COORDINATOR, Listener.GRPC)[0] == "127.0.0.1:9692"
    assert shape.addresses(Role.GROUP_COORDINATOR, Listener.HTTP)[0] == "127.0.0.1:9792"
    assert shape.addresses(Role.METADATA, Listener.GRPC) == ["127.0.0.1:9892"]


def test_controllers_have_no_kafka_listener() -> None:
    (controller, _) = lay_out(Counts()).of(Role.CONTROLLER)
    assert controller.address(Listener.KAFKA) is None


def test_a_cluster_without_metadata_has_no_console() -> None:
    assert lay_out(Counts(metadata=0)).console is None


def test_an_external_zookeeper_is_not_one_of_the_processes() -> None:
    shape = lay_out(Counts(), zookeeper="zk.example:2181/tidelog")
    assert shape.zookeeper == "zk.example:2181/tidelog"
    assert not shape.has_embedded_zookeeper


few = st.integers(1, 12)


@given(brokers=few, controllers=few, coordinators=st.integers(0, 12), metadata=st.integers(0, 12))
def test_packed_ports_are_consecutive_from_the_base(
    brokers: int, controllers: int, coordinators: int, metadata: int
) -> None:
    used = ports(lay_out(Counts(brokers, controllers, coordinators, metadata), port_base=20000))
    assert sorted(used) == list(range(20000, 20000 + len(used)))


@given(brokers=few, more=few)
def test_brokers_keep_their_packed_ports_when_the_cluster_grows(brokers: int, more: int) -> None:
    small, large = (lay_out(Counts(brokers=count), port_base=20000) for count in (brokers, brokers + more))
    assert large.bootstrap.startswith(small.bootstrap)


@given(brokers=st.integers(1, 100), controllers=st.integers(1, 100), metadata=st.integers(0, 100))
def test_default_ranges_never_overlap(brokers: int, controllers: int, metadata: int) -> None:
    used = ports(lay_out(Counts(brokers=brokers, controllers=controllers, metadata=metadata)))
    assert len(set(used)) == len(used)


def test_more_processes_than_a_default_range_holds_are_refused() -> None:
    with pytest.raises(WrongUsageError, match="--port-base"):
        lay_out(Counts(brokers=101))
    assert len(lay_out(Counts(brokers=101), port_base=20000).of(Role.BROKER)) == 101


def test_ports_beyond_the_last_one_are_refused() -> None:
    with pytest.raises(WrongUsageError, match="lower --port-base"):
        lay_out(Counts(), port_base=65530)


def test_ports_are_named_for_a_sentence() -> None:
    words = dict(listening_ports(lay_out(Counts())))
    assert words[2181] == "zookeeper"
    assert words[9093] == "kafka listener of broker 1"
