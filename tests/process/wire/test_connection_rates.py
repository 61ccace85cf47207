"""Connections that come too fast, and the metrics of a broker that has seen some."""

import socket
from collections.abc import Iterator

import pytest

from tests.support.services import Service, get_text
from tests.support.waiting import eventually
from tests.support.wire_client import WireClient
from tidelog.kafka.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    QuotaAlteration,
    QuotaEntity,
    QuotaOperation,
)
from tidelog.kafka.wire.messages.metadata import MetadataRequest


@pytest.fixture
def admin(broker: Service) -> Iterator[WireClient]:
    """Connected before anybody is held back; afterwards everybody may come again."""
    with WireClient(broker) as connected:
        yield connected
        set_rate(connected, None)


def set_rate(admin: WireClient, rate: float | None) -> None:
    operation = QuotaOperation(key="connection_creation_rate", value=rate or 0.0, remove=rate is None)
    entity = QuotaEntity(entity_type="ip", entity_name="127.0.0.1")
    request = AlterClientQuotasRequest(entries=[QuotaAlteration(entity=[entity], ops=[operation])])
    assert [entry.error_code for entry in admin.call(request, 1).entries] == [0]


def test_an_address_that_connects_too_fast_is_turned_away_until_it_may_again(
    broker: Service, admin: WireClient
) -> None:
    set_rate(admin, 0)
    host, port = broker.kafka.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as refused:
        assert refused.recv(1) == b"", "held for a moment, then closed"
    assert admin.call(MetadataRequest(topics=[]), 9).brokers, "who is in stays in"
    set_rate(admin, 1000)
    with WireClient(broker) as allowed:
        assert allowed.call(MetadataRequest(topics=[]), 9).brokers
    assert value(broker, 'tidelog_connections_turned_away_total{listener="PLAINTEXT"}') >= 1


def test_requests_are_told_by_api_and_phase(broker: Service, client: WireClient, topic: str) -> None:
    count = 'kafka_network_requestmetrics_totaltimems_count{request="Produce"}'
    before = value(broker, count)
    for _ in range(5):
        assert client.produce(topic).error_code == 0
    eventually(lambda: value(broker, count) == before + 5)
    assert value(broker, 'kafka_network_requestmetrics_localtimems_sum{request="Produce"}') > 0
    assert value(broker, 'kafka_network_requestmetrics_errors_total{request="Produce",error="NONE"}') >= 5
    assert value(broker, 'tidelog_request_seconds_count{request="Produce",phase="total"}') == before + 5
    assert value(broker, 'kafka_server_socket_server_metrics_connection_count{listener="PLAINTEXT"}') >= 1
    assert 0 <= value(broker, "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent") <= 1


def value(broker: Service, series: str) -> float:
    """0 if it is not there."""
    lines = get_text(f"http://{broker.http}/metrics").splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{series} ")), 0.0)
