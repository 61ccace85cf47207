"""The table of error codes, against an independent list of Kafka's."""

import copy
import pickle

import pytest
from kio.schema.errors import ErrorCode

from tidelog.kafka.errors import PROPERTIES, KafkaCode, KafkaError

# The last code of Kafka 3.9; the oracle also knows those of later releases.
LAST_CODE = 127

GRPC_STATUSES = {
    "OK",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
}


def test_codes_have_the_names_and_numbers_of_kafka() -> None:
    expected = {each.name.upper(): each.value for each in ErrorCode if each.value <= LAST_CODE}
    assert {code.name: code.value for code in KafkaCode} == expected


def test_codes_are_retriable_where_kafka_says_so() -> None:
    expected = {each.value for each in ErrorCode if each.retriable and each.value <= LAST_CODE}
    assert {code.value for code in KafkaCode if PROPERTIES[code].retriable} == expected


def test_every_code_has_properties_in_whole_sentences() -> None:
    assert set(PROPERTIES) == set(KafkaCode)
    assert all(each.text.endswith(".") and each.text[0].isupper() for each in PROPERTIES.values())
    assert len({each.text for each in PROPERTIES.values()}) == len(PROPERTIES)


def test_every_code_has_a_grpc_status_and_only_none_is_ok() -> None:
    assert {each.grpc_status for each in PROPERTIES.values()} <= GRPC_STATUSES
    assert [code for code in KafkaCode if PROPERTIES[code].grpc_status == "OK"] == [KafkaCode.NONE]


def test_what_refreshes_metadata_is_also_retriable() -> None:
    refreshing = {code for code in KafkaCode if PROPERTIES[code].refreshes_metadata}
    assert KafkaCode.NOT_LEADER_OR_FOLLOWER in refreshing
    assert KafkaCode.REQUEST_TIMED_OUT not in refreshing
    assert all(PROPERTIES[code].retriable for code in refreshing)


def test_an_error_without_a_message_has_the_text_of_its_code() -> None:
    error = KafkaError(KafkaCode.NOT_CONTROLLER)
    assert error.message == PROPERTIES[KafkaCode.NOT_CONTROLLER].text
    assert str(error) == f"NOT_CONTROLLER (41): {error.message}"


def test_an_error_keeps_its_own_message() -> None:
    assert KafkaError(KafkaCode.INVALID_CONFIG, "no such setting").message == "no such setting"


@pytest.mark.parametrize("message", ["", "told apart"])
def test_an_error_survives_copying_and_pickling(message: str) -> None:
    error = KafkaError(KafkaCode.INVALID_CONFIG, message)
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (twin.code, twin.message) == (error.code, error.message)
