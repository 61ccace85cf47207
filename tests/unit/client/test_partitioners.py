"""Partitioners: the same partition as Java's client by key, one batch after the other without."""

import random
from collections import Counter

import pytest

from tidelog.client.core.murmur2 import murmur2, partition_of_key
from tidelog.client.core.partitioners import TopicShape, make_partitioner
from tidelog.client.errors import WrongArgumentError

SHAPE = TopicShape("t", 6, (0, 1, 2, 3, 4, 5))


# From the test of Kafka's own Utils.murmur2, as signed numbers.
@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_javas(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0xFFFFFFFF


def test_murmur2_agrees_with_another_client_on_keys_of_every_length() -> None:
    from aiokafka.partitioner import murmur2 as theirs

    seeded = random.Random(1)
    for length in range(200):
        key = seeded.randbytes(length)
        assert murmur2(key) == theirs(key) & 0xFFFFFFFF
        assert partition_of_key(key, 7) == (theirs(key) & 0x7FFFFFFF) % 7


@pytest.mark.parametrize("name", ["sticky", "murmur2", "by-rack"])
def test_keys_go_by_their_hash(name: str) -> None:
    partitioner = make_partitioner(name, random.Random(1).randrange)
    for number in range(100):
        key = str(number).encode()
        assert partitioner.partition(SHAPE, key) == partition_of_key(key, 6)


def test_records_without_a_key_stick_until_their_batch_is_full() -> None:
    partitioner = make_partitioner("sticky", random.Random(1).randrange)
    first = partitioner.partition(SHAPE, None)
    assert {partitioner.partition(SHAPE, None) for _ in range(50)} == {first}
    partitioner.on_new_batch(SHAPE, first)
    assert partitioner.partition(SHAPE, None) != first


def test_sticking_moves_over_all_partitions_evenly() -> None:
    partitioner = make_partitioner("sticky", random.Random(1).randrange)
    seen: Counter[int] = Counter()
    for _ in range(6000):
        chosen = partitioner.partition(SHAPE, None)
        seen[chosen] += 1
        partitioner.on_new_batch(SHAPE, chosen)
    assert min(seen.values()) > 800
    assert len(seen) == 6


def test_a_full_batch_of_a_keyed_record_does_not_move_the_sticky_partition() -> None:
    partitioner = make_partitioner("sticky", random.Random(1).randrange)
    stuck = partitioner.partition(SHAPE, None)
    partitioner.on_new_batch(SHAPE, (stuck + 1) % 6)
    assert partitioner.partition(SHAPE, None) == stuck


def test_records_without_a_key_avoid_partitions_without_a_leader() -> None:
    shape = TopicShape("t", 6, (2, 5))
    for name in ("sticky", "random", "round-robin"):
        partitioner = make_partitioner(name, random.Random(1).randrange)
        for _ in range(50):
            chosen = partitioner.partition(shape, None)
            assert chosen in (2, 5)
            partitioner.on_new_batch(shape, chosen)


def test_by_rack_prefers_leaders_nearby() -> None:
    shape = TopicShape("t", 6, (0, 1, 2, 3, 4, 5), near=(1, 4))
    partitioner = make_partitioner("by-rack", random.Random(1).randrange)
    seen = set()
    for _ in range(20):
        seen.add(chosen := partitioner.partition(shape, None))
        partitioner.on_new_batch(shape, chosen)
    assert seen == {1, 4}
    assert make_partitioner("by-rack", random.Random(1).randrange).partition(SHAPE, None) in range(6)


def test_round_robin_takes_turns_whatever_the_key() -> None:
    partitioner = make_partitioner("round-robin", random.Random(1).randrange)
    assert [partitioner.partition(SHAPE, b"k") for _ in range(8)] == [0, 1, 2, 3, 4, 5, 0, 1]


def test_a_function_decides_and_is_checked() -> None:
    partitioner = make_partitioner(
        lambda topic, key, everything, available: len(key or b"") % len(everything), lambda n: 0
    )
    assert partitioner.partition(SHAPE, b"abcd") == 4
    with pytest.raises(WrongArgumentError, match="partitioner: it gave 6 for topic t"):
        make_partitioner(lambda *_: 6, lambda n: 0).partition(SHAPE, None)
    with pytest.raises(WrongArgumentError, match="partitioner: 'best' is neither callable nor one of sticky"):
        make_partitioner("best", lambda n: 0)
