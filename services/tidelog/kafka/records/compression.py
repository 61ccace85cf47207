"""The five codecs of a batch's records, in the framings that Kafka's clients write and read."""

from collections.abc import Callable
from enum import IntEnum

import cramjam

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.header import INT32, Buffer


class Codec(IntEnum):
    """The lowest three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# No request is larger than socket.request.max.bytes (100 MiB by default); what it inflates to is held to a little more,
# so that a small batch cannot take the memory of the whole process.
INFLATED_BYTES_MAX = 128 * 1024 * 1024

_FIRST_ROOM = 256 * 1024
_ROOM_GROWTH = 8
_NO_ROOM = "failed to write whole buffer"  # how cramjam says that the output did not fit
_XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEADER_SIZE = 16
_XERIAL_VERSIONS = INT32.pack(1) + INT32.pack(1)
_XERIAL_BLOCK = 32 * 1024


def known_codec(number: int) -> Codec:
    """The codec of these attribute bits, or CORRUPT_MESSAGE for the three numbers that nobody uses."""
    try:
        return Codec(number)
    except ValueError:
        raise KafkaError(KafkaCode.CORRUPT_MESSAGE, f"compression codec {number} is unknown") from None


def inflate(data: Buffer, codec: Codec, *, room_before: int = 0) -> bytearray:
    """The uncompressed bytes after some free ones. CORRUPT_MESSAGE if they cannot be read or are too many."""
    if codec is Codec.NONE:
        return bytearray(room_before) + data
    into = _inflater(data, codec)
    room = _FIRST_ROOM
    while True:
        output = bytearray(room_before + room)
        try:
            size = into(data, memoryview(output)[room_before:])
        except cramjam.DecompressionError as error:
            if _NO_ROOM not in str(error):
                raise KafkaError(KafkaCode.CORRUPT_MESSAGE, f"{codec.name.lower()} data: {error}") from None
            room = _more_room(room)
            continue
        del output[room_before + size :]
        return output


def _more_room(room: int) -> int:
    if room >= INFLATED_BYTES_MAX:
        raise KafkaError(KafkaCode.CORRUPT_MESSAGE, f"a batch inflates to more than {INFLATED_BYTES_MAX} bytes")
    return min(room * _ROOM_GROWTH, INFLATED_BYTES_MAX)


def _inflater(data: Buffer, codec: Codec) -> Callable[[Buffer, memoryview], int]:
    match codec:
        case Codec.GZIP:
            return cramjam.gzip.decompress_into
        case Codec.LZ4:
            return cramjam.lz4.decompress_into
        case Codec.ZSTD:
            return cramjam.zstd.decompress_into
        case _:
            return _xerial_into if bytes(data[: len(_XERIAL_MAGIC)]) == _XERIAL_MAGIC else _snappy_block_into


def _snappy_block_into(data: Buffer, output: memoryview) -> int:
    if cramjam.snappy.decompress_raw_len(data) > len(output):
        raise cramjam.DecompressionError(_NO_ROOM)
    return int(cramjam.snappy.decompress_raw_into(data, output))


def _xerial_into(data: Buffer, output: memoryview) -> int:
    """Java's snappy stream: a header of 16 bytes, then blocks that begin with their size."""
    view, at, filled = memoryview(data), _XERIAL_HEADER_SIZE, 0
    while at < len(view):
        if at + 4 > len(view):
            raise cramjam.DecompressionError("snappy stream ends within a block size")
        (size,) = INT32.unpack_from(view, at)
        at += 4
        if not 0 <= size <= len(view) - at:
            raise cramjam.DecompressionError("snappy block is longer than the stream")
        filled += _snappy_block_into(view[at : at + size], output[filled:])
        at += size
    return filled


def deflate(data: Buffer, codec: Codec) -> bytes:
    """Compress records as Kafka's Java client does, so that every client can read them."""
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return bytes(cramjam.gzip.compress(data))
        case Codec.SNAPPY:
            return _xerial(memoryview(data))
        case Codec.LZ4:
            stream = cramjam.lz4.Compressor(level=1, content_checksum=False, block_linked=False)
            stream.compress(bytes(data))  # of all the codecs only this stream insists on bytes
            return bytes(stream.finish())
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=3))


def _xerial(data: memoryview) -> bytes:
    parts = [_XERIAL_MAGIC, _XERIAL_VERSIONS]
    for at in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + _XERIAL_BLOCK]))
        parts += (INT32.pack(len(block)), block)
    return b"".join(parts)
