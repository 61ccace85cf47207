"""Where replicas of new partitions go."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.controller.core.placement import alternate_racks, place
from tidelog.kafka.errors import KafkaCode, KafkaError


def no_racks(*ids: int) -> dict[int, str | None]:
    return dict.fromkeys(ids)


def test_rack_unaware_placement_goes_round_and_shifts_after_each_round() -> None:
    """Kafka's own example: five brokers, ten partitions, three replicas, start 0, shift 0."""
    assert place(no_racks(0, 1, 2, 3, 4), 10, 3, start=0, shift=0) == {
        0: (0, 1, 2),
        1: (1, 2, 3),
        2: (2, 3, 4),
        3: (3, 4, 0),
        4: (4, 0, 1),
        5: (0, 2, 3),
        6: (1, 3, 4),
        7: (2, 4, 0),
        8: (3, 0, 1),
        9: (4, 1, 2),
    }


def test_start_and_shift_move_the_first_and_the_other_replicas() -> None:
    assert place(no_racks(0, 1, 2, 3), 1, 3, start=2, shift=1) == {0: (2, 0, 1)}


def test_growth_goes_on_where_the_topic_ended() -> None:
    whole = place(no_racks(1, 2, 3), 7, 2, start=1, shift=1)
    grown = place(no_racks(1, 2, 3), 6, 2, start=1, shift=1, first_partition=1)
    assert grown == {partition: whole[partition] for partition in range(1, 7)}


def test_racks_alternate() -> None:
    racks = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
    assert alternate_racks(racks) == [0, 3, 1, 5, 4, 2]


def test_rack_aware_placement_uses_every_rack_before_one_twice() -> None:
    """Kafka's own example: six brokers in three racks; after six partitions the shift skips by the number of racks."""
    racks: dict[int, str | None] = {0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"}
    assert place(racks, 7, 3, start=0, shift=0) == {
        0: (0, 3, 1),
        1: (3, 1, 5),
        2: (1, 5, 4),
        3: (5, 4, 2),
        4: (4, 2, 0),
        5: (2, 0, 3),
        6: (0, 4, 2),
    }


def test_racks_are_not_heeded_if_one_broker_tells_none() -> None:
    assert place({1: "a", 2: None, 3: "a"}, 1, 2, start=0, shift=0) == {0: (1, 2)}


@pytest.mark.parametrize(
    ("partitions", "factor", "code"),
    [
        (0, 1, KafkaCode.INVALID_PARTITIONS),
        (-2, 1, KafkaCode.INVALID_PARTITIONS),
        (50_001, 1, KafkaCode.INVALID_PARTITIONS),
        (10**9, 1, KafkaCode.INVALID_PARTITIONS),
        (1, 0, KafkaCode.INVALID_REPLICATION_FACTOR),
        (1, 4, KafkaCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_refuses_impossible_numbers(partitions: int, factor: int, code: KafkaCode) -> None:
    with pytest.raises(KafkaError) as refusal:
        place(no_racks(1, 2, 3), partitions, factor, start=0, shift=0)
    assert refusal.value.code is code


@given(st.data())
def test_every_placement_is_balanced_and_spread(data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, 50), min_size=1, max_size=9, unique=True))
    with_racks = data.draw(st.booleans())
    racks = {id: data.draw(st.sampled_from("abc")) if with_racks else None for id in ids}
    factor = data.draw(st.integers(1, len(ids)))
    placed = place(racks, 20, factor, start=data.draw(st.integers(0, 9)), shift=data.draw(st.integers(0, 9)))
    for replicas in placed.values():
        assert len(set(replicas)) == factor
        if with_racks:
            assert len({racks[id] for id in replicas}) == min(factor, len(set(racks.values())))
    leaders = Counter(replicas[0] for replicas in placed.values())
    assert max(leaders.values()) - min(leaders.get(id, 0) for id in ids) <= 1
