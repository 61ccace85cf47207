"""A topic's effective settings."""

import pytest

from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.reading import read_config
from tidelog.kafka.configs.setting import Setting, settings_of
from tidelog.kafka.configs.topic import TopicConfig, check_topic_overrides, topic_config
from tidelog.kafka.errors import KafkaCode, KafkaError

NEEDED = {"zookeeper.connect": "zk:2181", "log.dirs": "data"}


def broker(texts: dict[str, str] | None = None) -> BrokerConfig:
    return read_config(BrokerConfig, NEEDED | (texts or {}))


def refusal_of(overrides: dict[str, str]) -> str:
    with pytest.raises(KafkaError) as caught:
        topic_config(broker(), overrides)
    assert caught.value.code is KafkaCode.INVALID_CONFIG
    return caught.value.message


def test_on_a_broker_with_defaults_a_topic_has_its_own() -> None:
    assert topic_config(broker(), {}) == TopicConfig()


@pytest.mark.parametrize("each", settings_of(TopicConfig).values(), ids=lambda each: each.name)
def test_every_synonym_is_a_broker_setting_and_the_first_has_the_same_kind(each: Setting) -> None:
    known = settings_of(BrokerConfig)
    assert set(each.synonyms) <= set(known)
    assert all(known[name].kind is each.kind for name in each.synonyms[:1])


@pytest.mark.parametrize(
    ("texts", "attribute", "value"),
    [
        ({"log.retention.hours": "1"}, "retention_ms", 3_600_000),
        ({"log.retention.minutes": "1", "log.retention.hours": "1"}, "retention_ms", 60_000),
        ({"log.roll.hours": "1"}, "segment_ms", 3_600_000),
        ({"log.roll.jitter.ms": "4"}, "segment_jitter_ms", 4),
        ({"log.flush.scheduler.interval.ms": "5"}, "flush_ms", 5),
        ({"message.max.bytes": "6"}, "max_message_bytes", 6),
        ({"log.cleaner.min.cleanable.ratio": "0.25"}, "min_cleanable_dirty_ratio", 0.25),
        ({"log.index.size.max.bytes": "8"}, "segment_index_bytes", 8),
        ({"min.insync.replicas": "2"}, "min_insync_replicas", 2),
    ],
)
def test_a_topic_falls_back_to_its_broker(texts: dict[str, str], attribute: str, value: object) -> None:
    assert getattr(topic_config(broker(texts), {}), attribute) == value


def test_a_topics_own_setting_wins() -> None:
    config = topic_config(broker({"log.retention.ms": "5"}), {"retention.ms": "-1", "cleanup.policy": "compact,delete"})
    assert config.retention_ms == -1
    assert config.is_compacted
    assert config.is_deleted


def test_all_faults_are_told_at_once() -> None:
    message = refusal_of({"retention.ms": "x", "min.insync.replicas": "0", "colour": "blue"})
    assert "retention.ms=x is not a whole number" in message
    assert "min.insync.replicas=0 is not allowed: it must be at least 1" in message
    assert "colour is not a topic setting" in message


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("retention.ms", "-2"),
        ("retention.ms", ""),
        ("segment.bytes", "13"),
        ("cleanup.policy", "forget"),
        ("compression.type", "brotli"),
        ("min.cleanable.dirty.ratio", "1.1"),
        ("message.timestamp.type", "Never"),
        ("remote.storage.enable", "true"),
        ("leader.replication.throttled.replicas", "1:2,3"),
        ("compression.zstd.level", "23"),
        ("log.retention.ms", "5"),
    ],
)
def test_bad_overrides_are_refused(name: str, text: str) -> None:
    assert name in refusal_of({name: text})
    with pytest.raises(KafkaError):
        check_topic_overrides({name: text})


@pytest.mark.parametrize("text", ["*", "0:1,1:2", ""])
def test_throttled_replicas_are_all_some_or_none(text: str) -> None:
    check_topic_overrides({"leader.replication.throttled.replicas": text})


def test_overrides_must_go_with_the_brokers_settings() -> None:
    overrides = {"min.compaction.lag.ms": "10"}
    check_topic_overrides(overrides)
    with pytest.raises(KafkaError, match=r"is above max\.compaction\.lag\.ms=5"):
        topic_config(broker({"log.cleaner.max.compaction.lag.ms": "5"}), overrides)


def test_unknown_overrides_of_another_release_can_be_passed_over() -> None:
    config = topic_config(broker(), {"segment.bytes": "14", "from.the.future": "1"}, ignore_unknown=True)
    assert config.segment_bytes == 14


def test_the_older_bound_on_timestamps_holds_where_the_newer_is_left_alone() -> None:
    overrides = {"message.timestamp.difference.max.ms": "7", "message.timestamp.before.max.ms": "3"}
    config = topic_config(broker(), overrides)
    assert (config.timestamp_before_limit_ms, config.timestamp_after_limit_ms) == (3, 7)
