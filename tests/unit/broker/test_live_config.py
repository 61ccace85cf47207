"""The configuration in force: layers, their precedence, and entries that make no sense."""

import pytest

from tidelog.broker.core.live_config import LiveConfig
from tidelog.kafka.configs.broker import BrokerConfig


def broker(**values: object) -> BrokerConfig:
    return BrokerConfig(zookeeper_connect="zk:1", broker_id=1, log_dirs=("d",), **values)  # type: ignore[arg-type]


@pytest.fixture
def live() -> LiveConfig:
    return LiveConfig(broker(log_retention_hours=24))


def test_own_entries_win_over_those_of_all_brokers_and_these_over_the_file(live: LiveConfig) -> None:
    assert live.broker.message_max_bytes == 1048588
    live.take_cluster({"message.max.bytes": "2000", "log.segment.bytes": "5000"})
    live.take_own({"message.max.bytes": "3000"})
    assert (live.broker.message_max_bytes, live.broker.log_segment_bytes) == (3000, 5000)
    live.take_own({})
    assert live.broker.message_max_bytes == 2000
    live.take_cluster({})
    assert live.broker == live.static


def test_a_topics_entries_win_over_the_broker(live: LiveConfig) -> None:
    live.take_own({"message.max.bytes": "3000"})
    assert live.topic("t").max_message_bytes == 3000
    assert live.topic("t").retention_ms == 24 * 3_600_000
    live.take_topic("t", {"max.message.bytes": "7"})
    assert live.topic("t").max_message_bytes == 7
    assert live.topic("other").max_message_bytes == 3000


def test_an_update_tells_what_changed(live: LiveConfig) -> None:
    live.topic("quiet"), live.topic("own")
    live.take_topic("own", {"max.message.bytes": "7"})
    update = live.take_cluster({"message.max.bytes": "2000"})
    assert update.broker_changed
    assert {name: config.max_message_bytes for name, config in update.topics.items()} == {"quiet": 2000}
    again = live.take_cluster({"message.max.bytes": "2000"})
    assert (again.broker_changed, again.topics) == (False, {})


def test_a_topic_that_nobody_has_asked_for_is_no_news(live: LiveConfig) -> None:
    assert live.take_topic("t", {"max.message.bytes": "7"}).topics == {}
    assert live.topic("t").max_message_bytes == 7


def test_a_forgotten_topic_starts_afresh(live: LiveConfig) -> None:
    live.take_topic("t", {"max.message.bytes": "7"})
    live.forget_topic("t")
    assert live.topic("t").max_message_bytes == 1048588


@pytest.mark.parametrize("entries", [{"broker.id": "7"}, {"listeners": "A://:1"}, {"no.such": "1"}])
def test_what_cannot_be_changed_live_is_left_out(live: LiveConfig, entries: dict[str, str]) -> None:
    update = live.take_own({**entries, "message.max.bytes": "5"})
    assert live.broker.message_max_bytes == 5
    assert (live.broker.broker_id, live.broker.listeners) == (1, live.static.listeners)
    assert update.faults == ()


def test_what_is_for_each_broker_by_itself_is_not_taken_for_all(live: LiveConfig) -> None:
    entries = {"leader.replication.throttled.rate": "5"}
    live.take_cluster(entries)
    assert live.broker == live.static
    live.take_own(entries)
    assert live.broker.leader_replication_throttled_rate == 5


def test_a_bad_entry_is_told_and_the_rest_holds(live: LiveConfig) -> None:
    update = live.take_own({"message.max.bytes": "x", "log.segment.bytes": "5000"})
    assert [fault.name for fault in update.faults] == ["message.max.bytes"]
    assert (live.broker.message_max_bytes, live.broker.log_segment_bytes) == (1048588, 5000)
    update = live.take_topic("t", {"retention.ms": "x", "segment.bytes": "70", "no.such": "1"})
    assert [fault.name for fault in update.faults] == ["retention.ms"]
    assert live.topic("t").segment_bytes == 70


def test_entries_that_do_not_go_together_are_taken_as_far_as_they_do(live: LiveConfig) -> None:
    update = live.take_topic("t", {"max.compaction.lag.ms": "10", "min.compaction.lag.ms": "20", "segment.bytes": "70"})
    topic = live.topic("t")
    assert (topic.max_compaction_lag_ms, topic.min_compaction_lag_ms, topic.segment_bytes) == (10, 0, 70)
    assert "max.compaction.lag.ms=10" in str(update.faults[0])


def test_entries_of_both_layers_are_checked_together(live: LiveConfig) -> None:
    live.take_cluster({"log.cleaner.min.compaction.lag.ms": "20"})
    update = live.take_own({"log.cleaner.max.compaction.lag.ms": "30"})
    assert update.faults == ()
    config = live.broker
    assert (config.log_cleaner_min_compaction_lag_ms, config.log_cleaner_max_compaction_lag_ms) == (20, 30)
