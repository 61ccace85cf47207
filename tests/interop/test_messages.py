"""What one stock client produces every other one consumes, as it was."""

import time
from itertools import product

import pytest

from tests.support.stock_clients.every import STOCK_CLIENTS
from tests.support.stock_clients.interface import CODECS, Message, StockClient

CLIENTS = pytest.mark.parametrize("client", STOCK_CLIENTS, ids=lambda client: client.name)
NOW_MS = time.time_ns() // 1_000_000
SAMPLES = [
    Message(b"key", b"value", NOW_MS),
    Message(None, b"no key", NOW_MS + 1),
    Message(b"no value", None, NOW_MS + 2),
    Message(b"", b"", NOW_MS + 3),
    Message(b"headers", b"v", NOW_MS + 4, (("a", b"1"), ("a", b"2"), ("empty", b""), ("ü", b"\xff"))),
    Message(b"\0\xff", bytes(range(256)), NOW_MS + 5),
    *(Message(b"%d" % number, b"text " * number, NOW_MS + 6 + number) for number in range(300)),
]


@pytest.mark.parametrize(
    ("writer", "reader", "codec"),
    [
        pytest.param(writer, reader, codec, id=f"{writer.name} to {reader.name}, {codec}")
        for writer, reader, codec in product(STOCK_CLIENTS, STOCK_CLIENTS, CODECS)
        if codec in writer.codecs and codec in reader.codecs
    ],
)
def test_every_client_reads_what_any_wrote(
    bootstrap: str, topic: str, writer: StockClient, reader: StockClient, codec: str
) -> None:
    writer.create(bootstrap, topic, 1, {})
    assert writer.produce(bootstrap, topic, SAMPLES, codec) == list(range(len(SAMPLES)))
    assert reader.consume(bootstrap, topic, 0, len(SAMPLES)) == SAMPLES


@CLIENTS
def test_headers_without_a_value(bootstrap: str, topic: str, client: StockClient) -> None:
    if not client.writes_null_headers:
        pytest.skip("it does not write them")
    sent = [Message(b"k", b"v", NOW_MS, (("none", None), ("a", b"1"), ("none", None)))]
    client.produce(bootstrap, topic, sent)
    for reader in STOCK_CLIENTS:
        assert reader.consume(bootstrap, topic, 0, 1) == sent


@CLIENTS
def test_idempotent_producers(bootstrap: str, topic: str, client: StockClient) -> None:
    client.create(bootstrap, topic, 1, {})
    for part in range(3):
        offsets = client.produce(bootstrap, topic, SAMPLES, idempotent=True)
        assert offsets == list(range(part * len(SAMPLES), (part + 1) * len(SAMPLES)))
    assert client.consume(bootstrap, topic, 0, 3 * len(SAMPLES)) == SAMPLES * 3


@CLIENTS
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_big_messages(bootstrap: str, topic: str, client: StockClient, codec: str) -> None:
    client.create(bootstrap, topic, 1, {})
    sent = [Message(b"big", bytes([65 + number]) * 1_500_000, NOW_MS) for number in range(5)]
    assert client.produce(bootstrap, topic, sent, codec) == list(range(5))
    assert client.consume(bootstrap, topic, 0, 5) == sent


@CLIENTS
def test_from_the_beginning_the_middle_the_end_and_by_time(bootstrap: str, topic: str, client: StockClient) -> None:
    client.create(bootstrap, topic, 1, {})
    assert client.ends(bootstrap, topic) == (0, 0)
    client.produce(bootstrap, topic, SAMPLES)
    assert client.ends(bootstrap, topic) == (0, len(SAMPLES))
    assert client.consume(bootstrap, topic, 100, 50) == SAMPLES[100:150]
    at = client.offset_at(bootstrap, topic, NOW_MS + 200)
    assert at == 200
    assert client.consume(bootstrap, topic, at, 3) == SAMPLES[200:203]
    assert client.offset_at(bootstrap, topic, NOW_MS + 10**9) is None
    client.produce(bootstrap, topic, [Message(b"k", b"last", NOW_MS)])
    assert client.consume(bootstrap, topic, len(SAMPLES), 1) == [Message(b"k", b"last", NOW_MS)]


@CLIENTS
def test_a_topic_that_nobody_created(bootstrap: str, topic: str, client: StockClient) -> None:
    assert client.produce(bootstrap, topic, SAMPLES[:5]) == [0, 1, 2, 3, 4]
    assert client.consume(bootstrap, topic, 0, 5) == SAMPLES[:5]
