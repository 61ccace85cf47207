"""A member's part in its group, and the bytes that members exchange."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.core.assignors import MemberSubscription
from tidelog.client.core.consumer_protocol import (
    read_assignment,
    read_subscription,
    write_assignment,
    write_subscription,
)
from tidelog.client.core.membership import Membership, MemberState
from tidelog.client.records import ConsumerGroupMetadata, TopicPartition
from tidelog.kafka.errors import KafkaCode, KafkaError

P = [TopicPartition("t", number) for number in range(6)]


def member() -> Membership:
    return Membership("g", None, session_timeout_ms=6000, heartbeat_interval_ms=2000, max_poll_interval_ms=10_000)


def joined(at_ms: int = 0) -> Membership:
    one = member()
    one.on_joining()
    one.on_joined("m-1", 3, "range", is_leader=False)
    one.on_synced(at_ms)
    one.on_poll(at_ms)
    return one


def test_joining_makes_a_member() -> None:
    one = member()
    assert one.needs_join
    assert not one.is_member
    one = joined()
    assert one.state is MemberState.STABLE
    assert not one.needs_join
    assert one.metadata() == ConsumerGroupMetadata("g", 3, "m-1", None)


def test_heartbeats_are_due_by_their_interval() -> None:
    one = joined(1000)
    assert not one.is_heartbeat_due(2999)
    assert one.is_heartbeat_due(3000)
    one.on_heartbeat_sent(3000)
    assert not one.is_heartbeat_due(4999)


def test_a_rebalance_keeps_the_place() -> None:
    one = joined()
    one.on_heartbeat_answer(KafkaCode.REBALANCE_IN_PROGRESS, 10)
    assert one.needs_join
    assert one.is_member
    assert not one.has_lost_partitions


def test_topics_that_change_while_a_refused_round_is_repeated_need_a_round_of_their_own() -> None:
    one = member()
    one.on_joining()
    one.want_join()
    one.on_refusal(KafkaCode.UNKNOWN_MEMBER_ID)
    one.on_joining_again()
    assert one.needs_join, "the repeated request still names the old topics"
    one.on_joining()
    one.on_refusal(KafkaCode.UNKNOWN_MEMBER_ID)
    one.on_joining_again()
    assert not one.needs_join


@pytest.mark.parametrize(
    ("code", "member_id"), [(KafkaCode.ILLEGAL_GENERATION, "m-1"), (KafkaCode.UNKNOWN_MEMBER_ID, "")]
)
def test_who_is_forgotten_has_lost_its_partitions(code: KafkaCode, member_id: str) -> None:
    one = joined()
    one.on_heartbeat_answer(code, 10)
    assert (one.needs_join, one.is_member, one.has_lost_partitions, one.member_id) == (True, False, True, member_id)


def test_a_fenced_instance_is_over() -> None:
    one = joined()
    one.on_refusal(KafkaCode.FENCED_INSTANCE_ID)
    assert one.fatal is KafkaCode.FENCED_INSTANCE_ID


def test_silence_ends_the_session_and_not_polling_the_membership() -> None:
    one = joined(1000)
    assert not one.has_session_ended(7000)
    assert one.has_session_ended(7001)
    assert not one.is_application_stuck(11_000)
    assert one.is_application_stuck(11_001)
    one.on_poll(11_001)
    assert not one.is_application_stuck(12_000)


def test_leaving_is_no_loss() -> None:
    one = joined()
    one.on_left()
    assert (one.has_lost_partitions, one.is_member, one.member_id) == (False, False, "")


def test_an_eager_member_gets_everything_anew() -> None:
    change = joined().change([], P[:2], is_cooperative=False)
    assert (change.revoked, change.added, change.joins_again) == (frozenset(), frozenset(P[:2]), False)


def test_a_cooperative_member_gives_up_what_it_lost_and_joins_again() -> None:
    one = joined()
    change = one.change(P[:4], P[:2], is_cooperative=True)
    assert (change.revoked, change.added, change.joins_again) == (frozenset(P[2:4]), frozenset(), True)
    assert one.needs_join
    one = joined()
    change = one.change(P[:2], P[:3], is_cooperative=True)
    assert (change.added, change.joins_again, one.needs_join) == (frozenset(P[2:3]), False, False)


partitions = st.lists(st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 99)), unique=True)


@given(
    st.sets(st.text("ab.-", min_size=1)),
    partitions,
    st.integers(-1, 999),
    st.none() | st.text(),
    st.none() | st.binary(),
)
def test_subscriptions_come_back(
    topics: set[str], owned: list[TopicPartition], generation: int, rack: str | None, user_data: bytes | None
) -> None:
    wanted = MemberSubscription(tuple(sorted(topics)), tuple(sorted(owned)), generation, None, rack, user_data)
    read = read_subscription(write_subscription(wanted))
    assert (read.topics, sorted(read.owned), read.generation) == (wanted.topics, sorted(owned), generation)
    assert (read.rack, read.user_data) == (rack, user_data)


@given(partitions)
def test_assignments_come_back(assigned: list[TopicPartition]) -> None:
    assert sorted(read_assignment(write_assignment(assigned))) == sorted(assigned)


def test_bytes_agree_with_another_client() -> None:
    from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata

    theirs = ConsumerProtocolMemberMetadata(0, ["a", "b"], b"x").encode()
    assert read_subscription(theirs).topics == ("a", "b")
    assert ConsumerProtocolMemberMetadata.decode(theirs).user_data == b"x"
    assert read_assignment(ConsumerProtocolMemberAssignment(0, [("t", [0, 2])], b"").encode()) == [P[0], P[2]]
    decoded = ConsumerProtocolMemberAssignment.decode(write_assignment([P[0], P[2]]))
    assert decoded.assignment == [("t", [0, 2])]


def test_rubbish_is_a_refusal_and_nothing_is_no_partitions() -> None:
    with pytest.raises(KafkaError, match="INCONSISTENT_GROUP_PROTOCOL"):
        read_subscription(b"\x00")
    with pytest.raises(KafkaError, match="INCONSISTENT_GROUP_PROTOCOL"):
        read_assignment(b"\x00\x00\x00\x00\x00\x07")
    assert read_assignment(b"") == []
