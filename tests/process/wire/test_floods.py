"""More than a broker can take at once: it takes what it can, and its memory stays flat."""

import contextlib
import socket
import threading

import psutil
import pytest

from tests.support.batches import plain
from tests.support.services import Service
from tests.support.wire_client import WireClient, fetch_request, produce_request
from tidelog.kafka.wire.headers import encode_request
from tidelog.kafka.wire.messages.metadata import MetadataRequest

pytestmark = pytest.mark.usefixtures("unharmed")

MANY = 10_000


def test_ten_thousand_requests_that_nobody_reads_the_answers_of(broker: Service, topic: str) -> None:
    """The broker stops reading when its answers pile up; all are answered once the client reads."""
    with WireClient(broker) as client:
        for _ in range(20):
            client.produce(topic, bytes(plain(b"x" * 50_000)))
        requests = b"".join(
            encode_request(fetch_request(topic, max_bytes=10_000_000), 11, number, "flood") for number in range(MANY)
        )
        sender = threading.Thread(target=send_all, args=(client.socket, requests))
        sender.start()
        process = psutil.Process(broker.process.pid)
        before = process.memory_info().rss
        sender.join(1.0)
        with WireClient(broker) as other:
            assert other.call(MetadataRequest(topics=[]), 9).brokers
        assert process.memory_info().rss - before < 64 * 1024 * 1024
        for number in range(20):
            assert client.receive()[:4] == number.to_bytes(4, "big")
        client.socket.shutdown(socket.SHUT_RDWR)
        sender.join(10)


def send_all(connected: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):
        connected.sendall(data)


def test_ten_thousand_small_requests_are_answered_in_order(client: WireClient) -> None:
    requests = b"".join(encode_request(MetadataRequest(topics=[]), 9, number, "flood") for number in range(MANY))
    sender = threading.Thread(target=client.send_raw, args=(requests,))
    sender.start()
    assert [int.from_bytes(client.receive()[:4], "big") for _ in range(MANY)] == list(range(MANY))
    sender.join(10)


def test_produce_requests_that_nobody_reads_the_answers_of(broker: Service, topic: str) -> None:
    with WireClient(broker) as client:
        data = encode_request(produce_request(topic, bytes(plain(b"x" * 1000))), 9, 1, "flood") * 1000
        client.send_raw(data)
        for _ in range(1000):
            client.receive()
    with WireClient(broker) as other:
        assert other.fetch(topic).high_watermark == 1000


def test_a_fetch_of_everything_there_could_be(client: WireClient, topic: str) -> None:
    for _ in range(3):
        client.produce(topic, bytes(plain(b"x" * 100_000)))
    assert len(client.fetch(topic, max_bytes=2**31 - 1).records or b"") > 300_000


def test_two_hundred_busy_connections_beside_a_thousand_idle_ones(broker: Service, topic: str) -> None:
    idle = [WireClient(broker) for _ in range(1000)]
    busy = [WireClient(broker) for _ in range(200)]
    requests = encode_request(produce_request(topic, bytes(plain(b"x" * 1000))), 9, 1, "busy") * 20
    for _ in range(5):
        for one in busy:
            one.send_raw(requests)
        for one in busy:
            for _ in range(20):
                assert one.receive()[:4] == (1).to_bytes(4, "big")
    assert busy[0].fetch(topic).high_watermark == 5 * 200 * 20
    assert idle[-1].call(MetadataRequest(topics=[]), 9).brokers
    for one in (*idle, *busy):
        one.socket.close()


def test_a_thousand_idle_connections_and_a_hundred_that_vanish(broker: Service) -> None:
    idle = [WireClient(broker) for _ in range(1000)]
    for one in idle[:100]:
        one.ask(MetadataRequest(topics=[]), 9)
        one.socket.close()
    with WireClient(broker) as other:
        assert other.call(MetadataRequest(topics=[]), 9).brokers
    assert idle[-1].call(MetadataRequest(topics=[]), 9).brokers
    for one in idle:
        one.socket.close()


def test_ten_thousand_parked_fetches_of_clients_that_go_away(broker: Service, topic: str) -> None:
    for _ in range(100):
        with WireClient(broker) as client:
            request = fetch_request(topic, max_wait_ms=30_000)
            client.send_raw(b"".join(encode_request(request, 11, number, "flood") for number in range(100)))
    with WireClient(broker) as other:
        assert other.produce(topic).base_offset == 0
