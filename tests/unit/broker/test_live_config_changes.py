"""Alterations of stored entries: what they come to, and which code refuses what."""

import pytest

from tidelog.broker.core.config_changes import Change, Operation, altered_broker, altered_topic, check_form
from tidelog.broker.core.live_config import LiveConfig
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.errors import KafkaCode, KafkaError

SET, DELETE, APPEND, SUBTRACT = Operation


@pytest.fixture
def live() -> LiveConfig:
    return LiveConfig(BrokerConfig(zookeeper_connect="zk:1", broker_id=1, log_dirs=("d",)))


def change(operation: int, name: str, value: str | None = None) -> Change:
    return Change(name, value, operation)


def altered(live: LiveConfig, stored: dict[str, str], changes: tuple[Change, ...], kind: str) -> dict[str, str]:
    check_form(changes)
    if kind == "topic":
        return altered_topic(live, stored, changes)
    return altered_broker(live, stored, changes, for_all=kind == "all brokers")


def refusal_of(
    live: LiveConfig, *changes: Change, stored: dict[str, str] | None = None, kind: str = "topic"
) -> KafkaCode:
    with pytest.raises(KafkaError) as refused:
        altered(live, stored or {}, changes, kind)
    assert refused.value.message
    return refused.value.code


def test_set_and_delete_leave_the_rest_alone(live: LiveConfig) -> None:
    stored = {"segment.bytes": "5000", "retention.ms": "1"}
    changes = [change(SET, "retention.ms", "2"), change(DELETE, "segment.bytes"), change(DELETE, "flush.ms")]
    assert altered_topic(live, stored, changes) == {"retention.ms": "2"}
    assert stored == {"segment.bytes": "5000", "retention.ms": "1"}


def test_a_list_is_extended_and_shortened_from_where_it_is(live: LiveConfig) -> None:
    def policy(stored: dict[str, str], operation: int, value: str) -> str:
        return altered_topic(live, stored, [change(operation, "cleanup.policy", value)])["cleanup.policy"]

    assert policy({}, APPEND, "compact") == "delete,compact"
    assert policy({"cleanup.policy": "compact"}, APPEND, "compact,delete") == "compact,delete"
    assert policy({"cleanup.policy": "delete,compact"}, SUBTRACT, "delete") == "compact"
    assert policy({"cleanup.policy": "compact"}, SUBTRACT, "delete") == "compact"
    live.take_cluster({"log.cleanup.policy": "compact"})
    assert policy({}, APPEND, "delete") == "compact,delete"


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ([change(SET, "retention.ms", "x")], KafkaCode.INVALID_CONFIG),
        ([change(SET, "no.such", "1")], KafkaCode.INVALID_CONFIG),
        ([change(APPEND, "no.such", "1")], KafkaCode.INVALID_CONFIG),
        ([change(APPEND, "retention.ms", "1")], KafkaCode.INVALID_CONFIG),
        ([change(SUBTRACT, "retention.ms", "1")], KafkaCode.INVALID_CONFIG),
        ([change(APPEND, "cleanup.policy", "shred")], KafkaCode.INVALID_CONFIG),
        (
            [change(SET, "min.compaction.lag.ms", "9"), change(SET, "max.compaction.lag.ms", "8")],
            KafkaCode.INVALID_CONFIG,
        ),
        ([change(SET, "retention.ms", None)], KafkaCode.INVALID_REQUEST),
        ([change(SET, "retention.ms", "1"), change(DELETE, "retention.ms")], KafkaCode.INVALID_REQUEST),
        ([change(9, "retention.ms", "1")], KafkaCode.INVALID_REQUEST),
    ],
)
def test_what_no_topic_may_have(live: LiveConfig, wanted: list[Change], code: KafkaCode) -> None:
    assert refusal_of(live, *wanted) is code


def test_a_rule_is_checked_against_what_is_stored(live: LiveConfig) -> None:
    stored = {"max.compaction.lag.ms": "10"}
    assert refusal_of(live, change(SET, "min.compaction.lag.ms", "11"), stored=stored) is KafkaCode.INVALID_CONFIG
    assert altered_topic(live, stored, [change(SET, "min.compaction.lag.ms", "9")])


def test_what_was_bad_before_is_no_reason_to_refuse(live: LiveConfig) -> None:
    stored = {"retention.ms": "x", "no.such": "1"}
    after = altered_topic(live, stored, [change(SET, "segment.bytes", "70")])
    assert after == {**stored, "segment.bytes": "70"}
    assert altered_topic(live, stored, [change(DELETE, "retention.ms"), change(DELETE, "no.such")]) == {}
    assert altered_broker(live, stored, [change(SET, "message.max.bytes", "9")], for_all=False)


@pytest.mark.parametrize("kind", ["broker", "all brokers"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("broker.id", "7"),
        ("listeners", "PLAINTEXT://:1"),
        ("no.such", "1"),
        ("ssl.keystore.password", "secret"),
        ("num.io.threads", "x"),
        ("log.cleaner.threads", "0"),
        ("log.cleaner.dedupe.buffer.size", "1000"),
    ],
)
def test_what_no_broker_may_have(live: LiveConfig, kind: str, name: str, value: str) -> None:
    assert refusal_of(live, change(SET, name, value), kind=kind) is KafkaCode.INVALID_REQUEST


def test_nothing_is_appended_to_what_is_not_a_list(live: LiveConfig) -> None:
    assert refusal_of(live, change(APPEND, "message.max.bytes", "1"), kind="broker") is KafkaCode.INVALID_CONFIG


def test_some_settings_are_for_each_broker_by_itself(live: LiveConfig) -> None:
    throttle = change(SET, "follower.replication.throttled.rate", "1")
    assert altered_broker(live, {}, [throttle], for_all=False) == {throttle.name: "1"}
    assert refusal_of(live, throttle, kind="all brokers") is KafkaCode.INVALID_REQUEST
