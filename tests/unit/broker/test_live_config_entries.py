"""Settings as DescribeConfigs tells them: values, sources, synonyms, and what is not shown."""

from collections.abc import Iterable

from tidelog.broker.core.config_entries import (
    ConfigEntry,
    broker_entries,
    cluster_entries,
    logger_entries,
    topic_entries,
)
from tidelog.broker.core.live_config import LiveConfig
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.setting import ConfigSource, settings_of
from tidelog.kafka.configs.topic import TopicConfig

TOPIC, BROKER, CLUSTER, STATIC, DEFAULT = (
    ConfigSource.DYNAMIC_TOPIC,
    ConfigSource.DYNAMIC_BROKER,
    ConfigSource.DYNAMIC_DEFAULT_BROKER,
    ConfigSource.STATIC_BROKER,
    ConfigSource.DEFAULT,
)


def made(**values: object) -> LiveConfig:
    return LiveConfig(BrokerConfig(zookeeper_connect="zk:1", broker_id=1, log_dirs=("d",), **values))  # type: ignore[arg-type]


def named(entries: Iterable[ConfigEntry], name: str) -> ConfigEntry:
    return next(entry for entry in entries if entry.name == name)


def synonyms(entry: ConfigEntry) -> list[tuple[str, str | None, ConfigSource]]:
    return [(each.name, each.value, each.source) for each in entry.synonyms]


def test_all_places_of_a_value_are_told_the_strongest_first() -> None:
    live = made(message_max_bytes=2000)
    live.take_cluster({"message.max.bytes": "3000"})
    live.take_own({"message.max.bytes": "4000"})
    entry = named(broker_entries(live), "message.max.bytes")
    assert (entry.value, entry.source, entry.read_only) == ("4000", BROKER, False)
    name = "message.max.bytes"
    assert synonyms(entry) == [
        (name, "4000", BROKER),
        (name, "3000", CLUSTER),
        (name, "2000", STATIC),
        (name, "1048588", DEFAULT),
    ]
    entry = named(topic_entries(live, {"max.message.bytes": "5000"}), "max.message.bytes")
    assert (entry.value, entry.source) == ("5000", TOPIC)
    assert synonyms(entry)[:2] == [("max.message.bytes", "5000", TOPIC), (name, "4000", BROKER)]


def test_a_required_setting_has_no_default() -> None:
    entry = named(broker_entries(made()), "zookeeper.connect")
    assert (entry.value, entry.read_only) == ("zk:1", True)
    assert synonyms(entry) == [("zookeeper.connect", "zk:1", STATIC)]


def test_an_unset_setting_has_no_value_and_no_synonyms() -> None:
    entry = named(broker_entries(made()), "log.retention.ms")
    assert (entry.value, entry.source, entry.synonyms) == (None, DEFAULT, ())


def test_a_time_is_told_in_all_its_units() -> None:
    live = made(log_retention_hours=24)
    hours = [("log.retention.hours", "24", STATIC), ("log.retention.hours", "168", DEFAULT)]
    retention = named(topic_entries(live, {}), "retention.ms")
    assert (retention.value, retention.source) == (str(24 * 3_600_000), STATIC)
    assert synonyms(retention) == hours
    live.take_cluster({"log.retention.ms": "5"})
    assert synonyms(named(topic_entries(live, {}), "retention.ms")) == [("log.retention.ms", "5", CLUSTER), *hours]
    assert synonyms(named(broker_entries(live), "log.retention.hours")) == hours
    assert named(broker_entries(live), "log.retention.hours").value == "24"


def test_every_setting_is_told_once_and_in_order() -> None:
    live = made()
    names = [entry.name for entry in broker_entries(live)]
    assert names == sorted(set(names))
    assert set(settings_of(BrokerConfig)) <= set(names)
    assert {entry.name for entry in topic_entries(live, {})} == set(settings_of(TopicConfig))
    assert all(entry.doc for entry in topic_entries(live, {}))


def test_all_brokers_have_what_was_set_for_all_and_nothing_else() -> None:
    live = made()
    live.take_cluster({"message.max.bytes": "3000", "log.segment.bytes": "x"})
    live.take_own({"message.max.bytes": "4000"})
    (entry,) = cluster_entries(live)
    assert (entry.name, entry.value, entry.source) == ("message.max.bytes", "3000", CLUSTER)
    assert synonyms(entry) == [("message.max.bytes", "3000", CLUSTER)]


def test_an_entry_that_is_not_in_force_is_not_told() -> None:
    live = made()
    live.take_own({"message.max.bytes": "x"})
    entry = named(broker_entries(live), "message.max.bytes")
    assert (entry.value, entry.source) == ("1048588", DEFAULT)
    entry = named(topic_entries(live, {"retention.ms": "x"}), "retention.ms")
    assert entry.source is DEFAULT


def test_secrets_and_strangers_are_never_shown() -> None:
    live = made()
    live.take_own({"ssl.keystore.password": "hunter2", "plugin.key": "hunter2"})
    for name in ("ssl.keystore.password", "plugin.key"):
        entry = named(broker_entries(live), name)
        assert (entry.value, entry.sensitive, entry.read_only) == (None, True, True)
    assert "hunter2" not in repr(broker_entries(live))


def test_loggers_have_levels() -> None:
    (entry,) = logger_entries({"root": "INFO"})
    assert (entry.name, entry.value, entry.source) == ("root", "INFO", ConfigSource.DYNAMIC_BROKER_LOGGER)
