"""Assignments as consumers encode them, and what is no assignment at all."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.group_coordinator.core.groups.assignment import assigned_partitions


def encoded(version: int, topics: dict[str, list[int]]) -> bytes:
    body = b"".join(
        struct.pack(
            f">h{len(name.encode())}si{len(partitions)}i",
            len(name.encode()),
            name.encode(),
            len(partitions),
            *partitions,
        )
        for name, partitions in topics.items()
    )
    return struct.pack(">hi", version, len(topics)) + body + struct.pack(">i", -1)


@pytest.mark.parametrize("version", [0, 1, 3])
def test_partitions_of_several_topics(version: int) -> None:
    found = assigned_partitions(encoded(version, {"a": [0, 2], "ü": [], "b": [7]}))
    assert found == (("a", 0), ("a", 2), ("b", 7))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00",
        b"everything",
        encoded(-1, {"a": [1]}),
        encoded(0, {"a": [1]})[:-6],
        struct.pack(">hi", 0, 2**31 - 1),
        struct.pack(">hih1si", 0, 1, 1, b"a", 2**31 - 1),
        struct.pack(">hih", 0, 1, -1) + bytes(10),
    ],
)
def test_what_cannot_be_read_is_nothing(data: bytes) -> None:
    assert assigned_partitions(data) == ()


@given(st.binary(max_size=200))
def test_no_bytes_do_any_harm(data: bytes) -> None:
    assigned_partitions(data)
