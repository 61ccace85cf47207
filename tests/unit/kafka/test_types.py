"""Ids, names and endpoints as text, and back."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import (
    Endpoint,
    PartitionIndex,
    TopicName,
    TopicPartition,
    check_topic_name,
    java_hash,
    parse_topic_id,
    topic_id_text,
)

LEGAL = st.text("abcXYZ019._-", min_size=1, max_size=249).filter(lambda name: name not in (".", ".."))


def test_a_partition_is_written_like_its_folder_and_sorts_by_topic_then_number() -> None:
    first, second = (TopicPartition(TopicName("page-views"), PartitionIndex(number)) for number in (2, 10))
    assert str(second) == "page-views-10"
    assert sorted([second, first]) == [first, second]


@given(LEGAL)
def test_legal_topic_names_pass(name: str) -> None:
    check_topic_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 250, "a b", "a/b", "ä", "a\n", "\ud800"])
def test_illegal_topic_names_are_refused(name: str) -> None:
    with pytest.raises(KafkaError) as caught:
        check_topic_name(name)
    assert caught.value.code is KafkaCode.INVALID_TOPIC_EXCEPTION


@given(st.uuids())
def test_topic_ids_round_trip_in_22_characters(topic_id: UUID) -> None:
    text = topic_id_text(topic_id)
    assert len(text) == 22
    assert parse_topic_id(text) == topic_id


def test_a_topic_id_is_written_as_kafka_writes_it() -> None:
    assert topic_id_text(UUID(int=1)) == "AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.mark.parametrize(
    "text", ["", "A", "AAAAAAAAAAAAAAAAAAAAAR", "AAAAAAAAAAAAAAAAAAAAAQ==", "A*AAAAAAAAAAAAAAAAAAAQ", "ä"]
)
def test_other_texts_are_no_topic_ids(text: str) -> None:
    with pytest.raises(ValueError, match="is not a topic id"):
        parse_topic_id(text)


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("PLAINTEXT://localhost:9092", Endpoint("PLAINTEXT", "localhost", 9092)),
        ("PLAINTEXT://:9092", Endpoint("PLAINTEXT", "", 9092)),
        ("IN_SIDE.1://10.0.0.1:0", Endpoint("IN_SIDE.1", "10.0.0.1", 0)),
        ("PLAINTEXT://[::1]:9092", Endpoint("PLAINTEXT", "::1", 9092)),
    ],
)
def test_endpoints_are_read_and_written(text: str, endpoint: Endpoint) -> None:
    assert Endpoint.parse(text) == endpoint
    assert str(endpoint) == text


def test_a_listener_name_is_upper_cased() -> None:
    assert Endpoint.parse(" internal://b:1 ").listener == "INTERNAL"


@pytest.mark.parametrize(
    "text", ["", "localhost:9092", "PLAINTEXT://h", "PLAINTEXT://h:65536", "PLAINTEXT://h:-1", "X://a:1:2"]
)
def test_other_texts_are_no_endpoints(text: str) -> None:
    with pytest.raises(ValueError, match="is not of the form"):
        Endpoint.parse(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("", 0), ("hello", 99162322), ("Aa", 2112), ("BB", 2112), ("polygenelubricants", -(1 << 31)), ("😀", 1772899)],
)
def test_java_hash_is_that_of_java(text: str, value: int) -> None:
    assert java_hash(text) == value


@given(st.text())
def test_java_hash_fits_32_bits(text: str) -> None:
    assert -(1 << 31) <= java_hash(text) < 1 << 31
