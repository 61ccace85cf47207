"""Client quotas as they are configured: owners, texts, and which of them a question is about."""

import math

import pytest

from tidelog.broker.core.quota_entries import (
    MatchType,
    QuotaChange,
    QuotaFilter,
    QuotaOwner,
    QuotaTable,
    altered_quotas,
)
from tidelog.broker.core.quota_limits import DEFAULT, QuotaEntity
from tidelog.kafka.errors import KafkaCode, KafkaError

EXACT, BY_DEFAULT, ANY = MatchType
CLIENT = QuotaOwner.of([("client-id", "app")])


def owner(**parts: str | None) -> QuotaOwner:
    return QuotaOwner.of((kind.replace("_", "-"), name) for kind, name in parts.items())


def refusal(call: object) -> KafkaCode:
    with pytest.raises(KafkaError) as refused:
        call()  # type: ignore[operator]
    assert refused.value.message
    return refused.value.code


def test_an_owner_has_one_order_and_names_whose_requests_are_bound() -> None:
    both = owner(client_id=None, user="ann")
    assert both == owner(user="ann", client_id=None)
    assert both.parts == (("user", "ann"), ("client-id", None))
    assert both.entity == QuotaEntity("ann", DEFAULT)
    assert CLIENT.entity == QuotaEntity(None, "app")
    assert owner(ip="10.0.0.1").entity is None


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [("planet", "x")],
        [("user", "")],
        [("user", "a"), ("user", "b")],
        [("user", "a"), ("ip", "10.0.0.1")],
        [("ip", "not an address")],
    ],
)
def test_owners_that_cannot_be(parts: list[tuple[str, str | None]]) -> None:
    assert refusal(lambda: QuotaOwner.of(parts)) is KafkaCode.INVALID_REQUEST


def test_rates_are_written_whole_and_percentages_with_a_fraction() -> None:
    changes = [
        QuotaChange("producer_byte_rate", 1e9),
        QuotaChange("request_percentage", 5000.0),
        QuotaChange("controller_mutation_rate", 0.5),
    ]
    written = altered_quotas(CLIENT, {}, changes)
    assert written == {
        "producer_byte_rate": "1000000000",
        "request_percentage": "5000.0",
        "controller_mutation_rate": "0.5",
    }
    assert altered_quotas(owner(ip=None), {}, [QuotaChange("connection_creation_rate", 0.0)]) == {
        "connection_creation_rate": "0"
    }


def test_a_users_credentials_stay() -> None:
    stored = {"SCRAM-SHA-256": "salt=...", "producer_byte_rate": "1"}
    assert altered_quotas(owner(user="ann"), stored, [QuotaChange("producer_byte_rate", None)]) == {
        "SCRAM-SHA-256": "salt=..."
    }


@pytest.mark.parametrize("value", [-1.0, 0.0, 1.5, math.nan, math.inf, 1e19])
def test_rates_that_cannot_be(value: float) -> None:
    change = QuotaChange("producer_byte_rate", value)
    assert refusal(lambda: altered_quotas(CLIENT, {}, [change])) is KafkaCode.INVALID_REQUEST


def test_quotas_that_the_owner_does_not_have() -> None:
    for whose, key in ((CLIENT, "connection_creation_rate"), (owner(ip=None), "producer_byte_rate"), (CLIENT, "x")):
        change = QuotaChange(key, 1.0)
        assert refusal(lambda: altered_quotas(whose, {}, [change])) is KafkaCode.INVALID_REQUEST  # noqa: B023


@pytest.fixture
def table() -> QuotaTable:
    made = QuotaTable()
    for whose in (
        owner(user="ann"),
        owner(user=None),
        owner(user="ann", client_id="app"),
        CLIENT,
        owner(client_id=None),
    ):
        assert made.take(whose, {"producer_byte_rate": "1", "junk": "x"})
    assert made.take(owner(ip="10.0.0.1"), {"connection_creation_rate": "2"})
    return made


@pytest.mark.parametrize(
    ("components", "strict", "found"),
    [
        ([], False, 6),
        ([], True, 0),
        ([("user", EXACT, "ann")], False, 2),
        ([("user", EXACT, "ann")], True, 1),
        ([("user", BY_DEFAULT, None)], False, 1),
        ([("user", ANY, None)], False, 3),
        ([("user", ANY, None), ("client-id", ANY, None)], True, 1),
        ([("client-id", ANY, None)], False, 3),
        ([("client-id", EXACT, "app")], True, 1),
        ([("client-id", EXACT, "other")], False, 0),
        ([("ip", ANY, None)], False, 1),
        ([("ip", EXACT, "10.0.0.2")], True, 0),
    ],
)
def test_a_question_finds_what_it_is_about(
    table: QuotaTable, components: list[tuple[str, int, str | None]], strict: bool, found: int
) -> None:
    assert len(table.matching(QuotaFilter.of(components, strict=strict))) == found


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([("planet", 0, "x")], KafkaCode.UNSUPPORTED_VERSION),
        ([("", 0, "x")], KafkaCode.INVALID_REQUEST),
        ([("user", 7, "x")], KafkaCode.INVALID_REQUEST),
        ([("user", 0, None)], KafkaCode.INVALID_REQUEST),
        ([("user", 0, "a"), ("user", 0, "b")], KafkaCode.INVALID_REQUEST),
        ([("user", 0, "a"), ("ip", 2, None)], KafkaCode.INVALID_REQUEST),
    ],
)
def test_questions_that_make_no_sense(components: list[tuple[str, int, str | None]], code: KafkaCode) -> None:
    assert refusal(lambda: QuotaFilter.of(components, strict=False)) is code


def test_the_table_tells_whether_quotas_changed(table: QuotaTable) -> None:
    assert not table.take(CLIENT, {"producer_byte_rate": "1"})
    assert table.of(CLIENT) == {"producer_byte_rate": 1.0}
    assert table.take(CLIENT, {"producer_byte_rate": "not a number"})
    assert table.of(CLIENT) == {}
    assert not table.take(CLIENT, {})
