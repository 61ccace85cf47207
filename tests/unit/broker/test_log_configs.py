"""A topic's settings arrive in the log library under the right names."""

from tidelog.broker.log.config import FOREVER
from tidelog.broker.shell.log_configs import log_config
from tidelog.kafka.configs.topic import TopicConfig
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.header import TimestampType

DAY_MS = 86_400_000


def test_kafkas_defaults() -> None:
    config = log_config(TopicConfig(), DAY_MS)
    assert (config.segment_bytes, config.index_interval_bytes, config.segment_index_bytes) == (2**30, 4096, 10485760)
    assert (config.retention_ms, config.retention_bytes, config.delete, config.compact) == (7 * DAY_MS, -1, True, False)
    assert (config.flush_messages, config.producer_id_expiration_ms) == (FOREVER, DAY_MS)
    assert config.rules.max_message_bytes == 1048588
    assert config.rules.codec is None
    assert not config.rules.keys_required
    assert not config.rules.has_window


def test_what_a_topic_says_otherwise() -> None:
    topic = TopicConfig(
        cleanup_policy=("compact",),
        compression_type="zstd",
        message_timestamp_type="LogAppendTime",
        max_message_bytes=10,
        segment_bytes=1000,
        flush_messages=1,
    )
    config = log_config(topic, 5)
    assert (config.delete, config.compact, config.rules.keys_required) == (False, True, True)
    assert (config.rules.codec, config.rules.timestamp_type) == (Codec.ZSTD, TimestampType.LOG_APPEND_TIME)
    assert (config.rules.max_message_bytes, config.segment_bytes, config.flush_messages) == (10, 1000, 1)


def test_the_older_setting_of_the_window_holds_for_both_sides() -> None:
    rules = log_config(TopicConfig(message_timestamp_difference_max_ms=1000), 5).rules
    assert (rules.timestamp_before_max_ms, rules.timestamp_after_max_ms) == (1000, 1000)
    assert rules.has_window
