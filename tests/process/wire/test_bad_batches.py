"""Record batches that a broker must not append: each is refused with its code, and the log stays empty."""

import struct
import time
import zlib
from collections.abc import Callable

import cramjam
import pytest

from tests.support.batches import batch, plain
from tests.support.wire_client import WireClient, create
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.record import Record

pytestmark = pytest.mark.usefixtures("unharmed")

RECORD = Record(None, b"v", 1_700_000_000_000)
ZEROS = bytes(1_000_000)
FAR_BEYOND = 1024


def compressed(codec: Codec, payload: bytes) -> bytes:
    return batch(RECORD, attributes=codec, payload=payload)


def zstd_bomb() -> bytes:
    compressor = cramjam.zstd.Compressor()
    for _ in range(FAR_BEYOND):
        compressor.compress(ZEROS)
    return bytes(compressor.finish())


def lz4_bomb() -> bytes:
    compressor = cramjam.lz4.Compressor()
    for _ in range(200):
        compressor.compress(ZEROS)
    return bytes(compressor.finish())


def gzip_bomb() -> bytes:
    compressor = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    return b"".join(compressor.compress(ZEROS) for _ in range(800)) + compressor.flush()


BAD: dict[str, tuple[bytes, KafkaCode]] = {
    "no records at all": (b"", KafkaCode.INVALID_RECORD),
    "wrong checksum": (batch(RECORD, crc=1), KafkaCode.CORRUPT_MESSAGE),
    "two batches": (bytes(plain()) * 2, KafkaCode.INVALID_RECORD),
    "magic 0": (batch(RECORD, magic=0), KafkaCode.INVALID_RECORD),
    "magic 1": (batch(RECORD, magic=1), KafkaCode.INVALID_RECORD),
    "magic 3": (batch(RECORD, magic=3), KafkaCode.CORRUPT_MESSAGE),
    "more records than there are": (batch(RECORD, count=2, last_offset_delta=1), KafkaCode.INVALID_RECORD),
    "fewer records than there are": (
        batch(RECORD, RECORD, count=1, last_offset_delta=0),
        KafkaCode.INVALID_RECORD,
    ),
    "2^31-1 records": (batch(RECORD, count=2**31 - 1, last_offset_delta=2**31 - 2), KafkaCode.INVALID_RECORD),
    "a negative count": (batch(RECORD, count=-1), KafkaCode.INVALID_RECORD),
    "count and offsets disagree": (batch(RECORD, last_offset_delta=5), KafkaCode.INVALID_RECORD),
    "a length beyond the data": (batch(RECORD, length=10_000), KafkaCode.INVALID_RECORD),
    "a negative length": (batch(RECORD, length=-1), KafkaCode.CORRUPT_MESSAGE),
    "cut short": (bytes(plain())[:-3], KafkaCode.INVALID_RECORD),
    "half a header": (bytes(plain())[:30], KafkaCode.INVALID_RECORD),
    "too large": (bytes(plain(b"x" * 1_100_000)), KafkaCode.MESSAGE_TOO_LARGE),
}
GARBAGE = [b"", b"\0", b"garbage" * 100, b"\xff" * 5000, struct.pack(">i", 2**31 - 1) * 10]


def nothing_is_there(client: WireClient, topic: str) -> bool:
    return client.fetch(topic).high_watermark == 0 and client.produce(topic).base_offset == 0


@pytest.mark.parametrize(("data", "code"), BAD.values(), ids=BAD)
def test_a_bad_batch(client: WireClient, topic: str, data: bytes, code: KafkaCode) -> None:
    answer = client.produce(topic, data)
    assert (answer.error_code, answer.base_offset) == (code, -1)
    assert nothing_is_there(client, topic)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_garbage_in_place_of_compressed_records(client: WireClient, topic: str, codec: Codec) -> None:
    for payload in GARBAGE:
        answer = client.produce(topic, compressed(codec, payload))
        assert answer.error_code in (KafkaCode.CORRUPT_MESSAGE, KafkaCode.INVALID_RECORD), payload[:10]
    whole = batch(*[RECORD] * 100, codec=codec)
    for at in range(61, len(whole), 7):
        broken = batch(*[RECORD] * 100, codec=codec, payload=whole[61:at])
        assert client.produce(topic, broken).error_code in (KafkaCode.CORRUPT_MESSAGE, KafkaCode.INVALID_RECORD)
    assert nothing_is_there(client, topic)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_nobody_has(client: WireClient, topic: str, codec: int) -> None:
    assert client.produce(topic, batch(RECORD, attributes=codec)).error_code == KafkaCode.CORRUPT_MESSAGE
    assert nothing_is_there(client, topic)


@pytest.mark.parametrize(
    ("codec", "bomb"),
    [(Codec.GZIP, gzip_bomb), (Codec.ZSTD, zstd_bomb), (Codec.LZ4, lz4_bomb)],
    ids=["gzip", "zstd", "lz4"],
)
def test_a_bomb_does_not_go_off(client: WireClient, topic: str, codec: Codec, bomb: Callable[[], bytes]) -> None:
    """A batch within the limits that would take gigabytes when it is opened."""
    data = compressed(codec, bomb())
    assert len(data) < 1_048_588
    for _ in range(3):
        answer = client.produce(topic, data)
        assert answer.error_code in (KafkaCode.CORRUPT_MESSAGE, KafkaCode.INVALID_RECORD)
    assert nothing_is_there(client, topic)


HOUR_MS = 3_600_000


@pytest.mark.parametrize("hours", [-2, 2])
def test_timestamps_out_of_range(client: WireClient, hours: int) -> None:
    name = f"timed-{hours + 2}"
    bounds = {"message.timestamp.before.max.ms": str(HOUR_MS), "message.timestamp.after.max.ms": str(HOUR_MS)}
    create(client, name, configs=bounds)
    now_ms = time.time_ns() // 1_000_000
    answer = client.produce(name, batch(Record(None, b"v", now_ms), Record(None, b"v", now_ms + hours * HOUR_MS)))
    assert (answer.error_code, answer.base_offset) == (KafkaCode.INVALID_TIMESTAMP, -1)
    assert [one.batch_index for one in answer.record_errors] == [1]
    assert client.produce(name, batch(Record(None, b"v", now_ms))).base_offset == 0


def sequenced(number: int, epoch: int = 0) -> bytes:
    return batch(Record(None, b"%d" % number, 1000), producer=(77, epoch), sequence=number)


def test_sequences_that_do_not_follow(client: WireClient, topic: str) -> None:
    assert [client.produce(topic, sequenced(number, 1)).base_offset for number in range(3)] == [0, 1, 2]
    assert client.produce(topic, sequenced(5, 1)).error_code == KafkaCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    again = client.produce(topic, sequenced(1, 1))
    assert (again.error_code, again.base_offset) == (KafkaCode.NONE, 1)
    assert client.produce(topic, sequenced(3, 0)).error_code == KafkaCode.INVALID_PRODUCER_EPOCH
    assert client.fetch(topic).high_watermark == 3


@pytest.mark.parametrize("acks", [7, 2, -2, -32768])
def test_acks_that_there_are_not(client: WireClient, topic: str, acks: int) -> None:
    assert client.produce(topic, acks=acks).error_code == KafkaCode.INVALID_REQUIRED_ACKS
    assert nothing_is_there(client, topic)


def test_a_broken_batch_hidden_in_any_byte(client: WireClient, topic: str) -> None:
    """The checksum covers everything but what the broker sets itself, and that is checked on its own."""
    whole = bytes(plain(b"x" * 20))
    for at in range(16, len(whole)):
        broken = bytearray(whole)
        broken[at] ^= 0x55
        assert client.produce(topic, bytes(broken)).error_code != KafkaCode.NONE, f"byte {at}"
    assert nothing_is_there(client, topic)
