"""What compiled readers and writers call where straight-line code will not do: varints, tag buffers, errors."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Callable

ZERO_UUID = UUID(int=0)


class MalformedMessage(Exception):  # noqa: N818  a noun that says it all
    """The bytes do not follow the schema of the message that they are said to be."""


def misfit(path: str, length: int) -> MalformedMessage:
    return MalformedMessage(f"{path}: a length of {length} does not fit")


def uvarint(value: int) -> bytes:
    """An unsigned varint: seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def uvarint_rest(data: bytes | memoryview, at: int, first: int) -> tuple[int, int]:
    """Read on after the first byte of a varint, which announced more; gives the value and where it ends."""
    value = first & 0x7F
    for shift in (7, 14, 21, 28):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise MalformedMessage("a varint of more than five bytes")


def read_uvarint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    first = data[at]
    return (first, at + 1) if first < 0x80 else uvarint_rest(data, at + 1, first)


def skip_tags(data: bytes | memoryview, at: int, count: int) -> int:
    """Step over a tag buffer of which nothing is known; gives where it ends."""
    for _ in range(count):
        _, at = read_uvarint(data, at)
        size, at = read_uvarint(data, at)
        at += size
        if at > len(data):
            raise misfit("a tagged field", size)
    return at


def after_tags(data: bytes | memoryview, at: int) -> int:
    """Where a tag buffer ends of which nothing is known; almost always it is empty. IndexError if it is cut off."""
    if not data[at]:
        return at + 1
    count, at = read_uvarint(data, at)
    return skip_tags(data, at, count)


def write_tags(out: bytearray, tags: list[tuple[int, bytearray]]) -> None:
    """Append a tag buffer of these tags, which are in order, and their values."""
    out += uvarint(len(tags))
    for tag, value in tags:
        out += uvarint(tag)
        out += uvarint(len(value))
        out += value


class Repeated(dict[int, "Callable[..., Any]"]):
    """By count, the function that packs or unpacks so many numbers of one code; those of small counts are kept."""

    def __init__(self, code: str, method: str) -> None:
        super().__init__()
        self._code = code
        self._method = method

    def __missing__(self, count: int) -> Callable[..., Any]:
        made: Callable[..., Any] = getattr(struct.Struct(f">{count}{self._code}"), self._method)
        if count <= 64:
            self[count] = made
        return made
