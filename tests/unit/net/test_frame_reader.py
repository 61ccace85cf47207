"""Frames out of bytes, without sockets: any fragmentation, holding and resuming, and what it costs in memory."""

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.net.frame_buffers import LARGE_BYTES, STAGE_BYTES, BufferPool, capacity_after
from tidelog.net.frame_reader import BadFrameError, FrameReader

STAGE = memoryview(bytearray(STAGE_BYTES))


class Received:
    """A reader with the frames that it handed over; can be told to hold after some of them."""

    def __init__(self, bytes_max: int = 10_000_000, hold_after: frozenset[int] = frozenset()) -> None:
        self.frames: list[bytes] = []
        self.pool = BufferPool()
        self.hold_after = hold_after
        self.reader = FrameReader(self.take, bytes_min=1, bytes_max=bytes_max, stage=STAGE, pool=self.pool)

    def take(self, frame: memoryview) -> None:
        self.frames.append(bytes(frame))
        frame[:1] = b"!"  # frames can be written to
        if len(self.frames) in self.hold_after:
            self.reader.held = True

    def feed(self, data: bytes, sizes: "random.Random | None" = None) -> None:
        at = 0
        while at < len(data):
            while self.reader.held:
                self.reader.resume()
            room = self.reader.buffer()
            count = min(len(room), len(data) - at)
            if sizes is not None:
                count = min(count, sizes.choice([1, 2, 3, 5, 100, 5000, 70_000]))
            room[:count] = data[at : at + count]
            at += count
            self.reader.received(count)
        while self.reader.held:
            self.reader.resume()


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(
        st.sampled_from([1, 2, 7, 1000, 65531, 65532, 65533, 65536, 65537, 200_000, 1_048_576, 2_500_000]), max_size=6
    ),
    seed=st.integers(0, 1000),
    holds=st.frozensets(st.integers(1, 6)),
)
def test_frames_come_out_whole_whatever_pieces_they_come_in(sizes: list[int], seed: int, holds: frozenset[int]) -> None:
    rng = random.Random(seed)
    bodies = [rng.randbytes(size) for size in sizes]
    received = Received(hold_after=holds)
    received.feed(b"".join(framed(body) for body in bodies), rng)
    assert received.frames == bodies


def test_held_frames_are_kept_and_handed_over_one_hold_at_a_time() -> None:
    received = Received(hold_after=frozenset({2, 3}))
    data = b"".join(framed(bytes([n])) for n in range(6)) + b"\0\0"
    room = received.reader.buffer()
    room[: len(data)] = data
    received.reader.received(len(data))
    assert len(received.frames) == 2
    assert received.reader.has_parked
    room[: len(data)] = bytes(len(data))  # the stage is everybody's
    received.reader.resume()
    assert len(received.frames) == 3
    received.reader.resume()
    assert received.frames == [bytes([n]) for n in range(6)]
    assert len(received.reader.buffer()) == 2  # the rest of a length


@pytest.mark.parametrize("size", [-1, 0, 101, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("pieces", [1, 2, 4])
def test_a_length_out_of_bounds_is_refused(size: int, pieces: int) -> None:
    received = Received(bytes_max=100)
    length = struct.pack(">i", size)
    for at in range(0, 4 - pieces, pieces):
        received.feed(length[at : at + pieces])
    with pytest.raises(BadFrameError, match=f"{size} bytes"):
        received.feed(length[4 - pieces :])
    assert received.frames == []


def test_a_large_frame_takes_memory_as_its_bytes_come() -> None:
    received = Received(bytes_max=100_000_000)
    received.feed(struct.pack(">i", 100_000_000))
    assert len(received.reader.buffer()) == STAGE_BYTES
    received.feed(bytes(STAGE_BYTES))
    assert len(received.reader.buffer()) == LARGE_BYTES - STAGE_BYTES
    received.feed(bytes(LARGE_BYTES - STAGE_BYTES))
    assert len(received.reader.buffer()) == LARGE_BYTES


def test_buffers_of_large_frames_are_used_again() -> None:
    received = Received()
    received.feed(framed(bytes(900_000)))
    kept = received.pool.kept_bytes
    assert kept == STAGE_BYTES + LARGE_BYTES
    received.feed(framed(bytes(900_000)))
    assert received.pool.kept_bytes == kept


def test_a_large_frame_starts_in_a_large_buffer_that_lies_idle() -> None:
    received = Received(bytes_max=100_000_000)
    received.feed(framed(bytes(900_000)))
    for size in (900_000, 5_000_000):
        received.feed(struct.pack(">i", size))
        assert len(received.reader.buffer()) == min(size, LARGE_BYTES)
        received.feed(bytes(size))
    assert [len(frame) for frame in received.frames] == [900_000, 900_000, 5_000_000]


def test_what_is_under_way_is_given_back_when_the_connection_goes() -> None:
    received = Received()
    received.feed(framed(bytes(900_000))[:-1])
    received.reader.discard()
    assert received.pool.kept_bytes == STAGE_BYTES + LARGE_BYTES


def test_the_pool_keeps_no_more_than_its_bound() -> None:
    pool = BufferPool(bytes_max=3 * LARGE_BYTES)
    taken = [pool.take(LARGE_BYTES) for _ in range(5)]
    for buffer in taken:
        pool.give(buffer)
    pool.give(bytearray(STAGE_BYTES + 1))
    assert pool.kept_bytes == 3 * LARGE_BYTES
    assert capacity_after(STAGE_BYTES) == LARGE_BYTES
    assert capacity_after(LARGE_BYTES) == 2 * LARGE_BYTES
