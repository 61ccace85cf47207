"""Zigzag variable-length integers, as the fields of a record are stored."""

from tidelog.kafka.records.header import Buffer


def encode_varint(value: int) -> bytes:
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def decode_varint(data: Buffer, at: int, longest: int = 5) -> tuple[int, int]:
    """The value and the position after it. IndexError at the end of the data, ValueError if it has too many bytes."""
    raw = data[at]
    if raw < 0x80:
        return (raw >> 1) ^ -(raw & 1), at + 1
    raw &= 0x7F
    for more in range(1, longest):
        byte = data[at + more]
        raw |= (byte & 0x7F) << (7 * more)
        if byte < 0x80:
            return (raw >> 1) ^ -(raw & 1), at + more + 1
    raise ValueError("a variable-length integer has too many bytes")
