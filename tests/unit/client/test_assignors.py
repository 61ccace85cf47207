"""How partitions are shared: Kafka's examples, and what must hold for any group."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.client.core.assignors import (
    Assignor,
    CooperativeStickyAssignor,
    MemberSubscription,
    PartitionCounts,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    make_assignors,
)
from tidelog.client.core.assignors.assignor import Assignment
from tidelog.client.core.assignors.sticky_data import read_sticky_data, write_sticky_data
from tidelog.client.errors import ConfigError
from tidelog.client.records import TopicPartition

ALL = [RangeAssignor, RoundRobinAssignor, StickyAssignor, CooperativeStickyAssignor]


def wanting(*topics: str, **members: tuple[str, ...]) -> dict[str, MemberSubscription]:
    return {name: MemberSubscription(wanted or topics) for name, wanted in members.items()}


def sizes(assigned: Assignment) -> list[int]:
    return [len(assigned[name]) for name in sorted(assigned)]


def numbers(assigned: Assignment, member: str) -> list[int]:
    return [each.partition for each in assigned[member]]


def test_range_gives_ten_partitions_to_three_members_as_4_3_3() -> None:
    assigned = RangeAssignor().assign(wanting("t", a=(), b=(), c=()), {"t": 10})
    assert [numbers(assigned, name) for name in "abc"] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_range_cuts_each_topic_alike() -> None:
    assigned = RangeAssignor().assign(wanting("s", "t", a=(), b=()), {"s": 3, "t": 3})
    assert sizes(assigned) == [4, 2]


def in_racks(**racks: str | None) -> dict[str, MemberSubscription]:
    return {name: MemberSubscription(("t",), rack=rack) for name, rack in racks.items()}


def placed(*racks: str, topic: str = "t") -> PartitionCounts:
    """A topic whose partitions have replicas in these racks, a letter each."""
    where = {TopicPartition(topic, number): frozenset(each) for number, each in enumerate(racks)}
    return PartitionCounts({topic: len(racks)}, where)


@pytest.mark.parametrize("assignor", [RangeAssignor, StickyAssignor, CooperativeStickyAssignor])
def test_members_get_what_has_a_replica_in_their_rack(assignor: type[Assignor]) -> None:
    assigned = assignor().assign(in_racks(a="y", b="x"), placed("x", "y", "x", "y"))
    assert (sorted(numbers(assigned, "a")), sorted(numbers(assigned, "b"))) == ([1, 3], [0, 2])


@pytest.mark.parametrize("assignor", ALL)
def test_racks_do_not_make_shares_uneven(assignor: type[Assignor]) -> None:
    assigned = assignor().assign(in_racks(a="x", b="y", c=None), placed(*"xxxxxx"))
    assert sizes(assigned) == [2, 2, 2]
    assert sorted(each.partition for parts in assigned.values() for each in parts) == list(range(6))


def test_racks_make_no_difference_where_everything_is_in_each_of_them() -> None:
    for members in (in_racks(a="x", b="y"), in_racks(a=None, b=None)):
        assigned = RangeAssignor().assign(members, placed("xy", "yx", "xyz", "xy"))
        assert (numbers(assigned, "a"), numbers(assigned, "b")) == ([0, 1], [2, 3])


def test_range_cuts_topics_alike_by_racks_too() -> None:
    members = {name: MemberSubscription(("s", "t"), rack=rack) for name, rack in (("a", "y"), ("b", "x"))}
    one, other = placed("x", "y", topic="s"), placed("xz", "yz", topic="t")
    assigned = RangeAssignor().assign(members, PartitionCounts({**one, **other}, {**one.racks, **other.racks}))
    assert assigned == {
        "a": [TopicPartition("s", 1), TopicPartition("t", 1)],
        "b": [TopicPartition("s", 0), TopicPartition("t", 0)],
    }


def test_range_orders_static_members_by_their_instance_id() -> None:
    members = {
        "x-1": MemberSubscription(("t",), group_instance_id="b"),
        "x-2": MemberSubscription(("t",), group_instance_id="a"),
        "x-0": MemberSubscription(("t",)),
    }
    assigned = RangeAssignor().assign(members, {"t": 4})
    assert (numbers(assigned, "x-2"), numbers(assigned, "x-1"), numbers(assigned, "x-0")) == ([0, 1], [2], [3])


def test_round_robin_deals_partitions_of_all_topics_in_a_row() -> None:
    assigned = RoundRobinAssignor().assign(wanting("s", "t", a=(), b=()), {"s": 3, "t": 3})
    assert sizes(assigned) == [3, 3]
    assert assigned["a"] == [("s", 0), ("s", 2), ("t", 1)]


def test_round_robin_passes_over_who_does_not_want_a_topic() -> None:
    assigned = RoundRobinAssignor().assign(wanting(a=("s",), b=("s", "t")), {"s": 2, "t": 2})
    assert assigned == {"a": [("s", 0)], "b": [("s", 1), ("t", 0), ("t", 1)]}


def test_sticky_keeps_what_members_have_when_one_leaves() -> None:
    members = {
        "a": MemberSubscription(("t",), owned_by("t", 0, 1), 5),
        "b": MemberSubscription(("t",), owned_by("t", 2, 3), 5),
    }
    assigned = StickyAssignor().assign(members, {"t": 6})
    assert set(numbers(assigned, "a")) >= {0, 1}
    assert set(numbers(assigned, "b")) >= {2, 3}
    assert sizes(assigned) == [3, 3]


def test_sticky_takes_only_what_a_newcomer_needs() -> None:
    members = {
        "a": MemberSubscription(("t",), owned_by("t", 0, 1, 2), 5),
        "b": MemberSubscription(("t",), owned_by("t", 3, 4, 5), 5),
        "c": MemberSubscription(("t",)),
    }
    assigned = StickyAssignor().assign(members, {"t": 6})
    assert sizes(assigned) == [2, 2, 2]
    assert set(numbers(assigned, "a")) < {0, 1, 2}
    assert set(numbers(assigned, "b")) < {3, 4, 5}


def test_of_two_that_claim_a_partition_the_later_generation_keeps_it() -> None:
    members = {
        "a": MemberSubscription(("t",), owned_by("t", 0), 4),
        "b": MemberSubscription(("t",), owned_by("t", 0), 5),
    }
    assert numbers(StickyAssignor().assign(members, {"t": 2}), "b") == [0]


def test_members_of_the_eager_sticky_assignor_remember_by_user_data() -> None:
    one, other = StickyAssignor(), StickyAssignor()
    one.on_assignment(owned_by("t", 1, 4), 3)
    other.on_assignment(owned_by("t", 0, 2), 3)
    members = {
        "a": MemberSubscription(("t",), user_data=one.user_data()),
        "b": MemberSubscription(("t",), user_data=other.user_data()),
    }
    assigned = StickyAssignor().assign(members, {"t": 5})
    assert set(numbers(assigned, "a")) >= {1, 4}
    assert set(numbers(assigned, "b")) >= {0, 2}


def test_user_data_comes_back_and_rubbish_is_nothing() -> None:
    data = write_sticky_data(owned_by("t", 1, 4), 3)
    assert data is not None
    assert read_sticky_data(data) == (owned_by("t", 1, 4), 3)
    assert read_sticky_data(data[:-5]) == ((), -1)
    assert write_sticky_data((), -1) is None


def test_cooperative_members_get_nothing_that_another_still_has() -> None:
    members = {
        "a": MemberSubscription(("t",), owned_by("t", 0, 1, 2, 3), 5),
        "b": MemberSubscription(("t",)),
    }
    first = CooperativeStickyAssignor().assign(members, {"t": 4})
    assert sizes(first) == [2, 0]
    members = {"a": MemberSubscription(("t",), tuple(first["a"]), 6), "b": MemberSubscription(("t",), (), 6)}
    second = CooperativeStickyAssignor().assign(members, {"t": 4})
    assert second["a"] == first["a"]
    assert sizes(second) == [2, 2]


def owned_by(topic: str, *partitions: int) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, number) for number in partitions)


topics = st.sampled_from(["r", "s", "t"])
groups = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.sets(topics, min_size=1), min_size=1, max_size=8)
counts = st.dictionaries(topics, st.integers(0, 12), max_size=3)


@pytest.mark.parametrize("assignor", ALL)
@given(groups, counts)
@settings(max_examples=60, deadline=None)
def test_every_partition_has_exactly_one_owner_who_wants_it(
    assignor: type[Assignor], group: dict[str, set[str]], partitions: dict[str, int]
) -> None:
    members = {name: MemberSubscription(tuple(wanted)) for name, wanted in group.items()}
    assigned = assignor().assign(members, partitions)
    given_out = [each for parts in assigned.values() for each in parts]
    wanted = {topic for each in group.values() for topic in each}
    assert sorted(given_out) == sorted(
        TopicPartition(topic, n) for topic, count in partitions.items() if topic in wanted for n in range(count)
    )
    assert all(each.topic in members[name].topics for name, parts in assigned.items() for each in parts)


@given(st.integers(1, 9), st.integers(0, 40), st.lists(st.integers(1, 9), max_size=6))
@settings(max_examples=60, deadline=None)
def test_sticky_is_even_and_moves_only_what_it_must(size: int, partitions: int, changes: list[int]) -> None:
    """However the group grows and shrinks: nobody has two more than another, and who stays keeps all it may keep."""
    before: Assignment = {}
    for generation, members in enumerate([size, *changes]):
        names = [f"m{number}" for number in range(members)]
        group = {name: MemberSubscription(("t",), tuple(before.get(name, ())), generation) for name in names}
        after = StickyAssignor().assign(group, {"t": partitions})
        assert max(sizes(after)) - min(sizes(after)) <= 1
        for name in names:
            kept = set(before.get(name, ())) & set(after[name])
            assert len(kept) >= min(len(before.get(name, ())), partitions // members)
        before = after


@given(groups, counts)
@settings(max_examples=60, deadline=None)
def test_sticky_evens_out_unequal_wishes_as_far_as_they_allow(
    group: dict[str, set[str]], partitions: dict[str, int]
) -> None:
    members = {name: MemberSubscription(tuple(wanted)) for name, wanted in group.items()}
    assigned = StickyAssignor().assign(members, partitions)
    for name, parts in assigned.items():
        for each in parts:
            others = [
                len(assigned[other]) for other in members if each.topic in members[other].topics and other != name
            ]
            assert all(len(parts) <= count + 1 for count in others)


@given(st.lists(st.integers(1, 8), min_size=1, max_size=5), st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_cooperative_rounds_settle_without_two_owners(sizes_of_group: list[int], partitions: int) -> None:
    owned: dict[str, list[TopicPartition]] = {}
    generation = 0
    for size in sizes_of_group:
        owned = {name: parts for name, parts in owned.items() if int(name[1:]) < size}
        owned = {f"m{number}": owned.get(f"m{number}", []) for number in range(size)}
        history = []
        for _ in range(4):
            generation += 1
            group = {name: MemberSubscription(("t",), tuple(parts), generation) for name, parts in owned.items()}
            owned = CooperativeStickyAssignor().assign(group, {"t": partitions})
            everything = [each for parts in owned.values() for each in parts]
            assert len(everything) == len(set(everything))
            history.append({name: sorted(parts) for name, parts in owned.items()})
        assert any(one == next_ for one, next_ in pairwise(history))
        assert sum(map(len, owned.values())) == partitions


def test_own_assignors_come_by_their_name() -> None:
    class Mine(RangeAssignor):
        name = "mine"

    own = Mine()
    assert make_assignors(["range"], [own]) == [own]
    assert [each.name for each in make_assignors(["mine", "range"], [own])] == ["mine", "range"]
    with pytest.raises(ConfigError, match=r"partition\.assignment\.strategy=x names x"):
        make_assignors(["x"])
