"""A topic's settings as the log library needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.log.config import LogConfig
from tidelog.kafka.coordination.fencing import SHARD_PRODUCER_IDS
from tidelog.kafka.records.header import TimestampType
from tidelog.kafka.records.produced import ProduceRules, codec_of_topic

if TYPE_CHECKING:
    from tidelog.kafka.configs.topic import TopicConfig

_TIMESTAMP_TYPES = {"CreateTime": TimestampType.CREATE_TIME, "LogAppendTime": TimestampType.LOG_APPEND_TIME}


def log_config(topic: TopicConfig, producer_id_expiration_ms: int) -> LogConfig:
    return LogConfig(
        segment_bytes=topic.segment_bytes,
        segment_ms=topic.segment_ms,
        segment_jitter_ms=topic.segment_jitter_ms,
        segment_index_bytes=topic.segment_index_bytes,
        index_interval_bytes=topic.index_interval_bytes,
        flush_messages=topic.flush_messages,
        flush_ms=topic.flush_ms,
        retention_bytes=topic.retention_bytes,
        retention_ms=topic.retention_ms,
        file_delete_delay_ms=topic.file_delete_delay_ms,
        delete=topic.is_deleted,
        compact=topic.is_compacted,
        min_cleanable_dirty_ratio=topic.min_cleanable_dirty_ratio,
        delete_retention_ms=topic.delete_retention_ms,
        min_compaction_lag_ms=topic.min_compaction_lag_ms,
        max_compaction_lag_ms=topic.max_compaction_lag_ms,
        preallocate=topic.preallocate,
        producer_id_expiration_ms=producer_id_expiration_ms,
        permanent_producer_ids=SHARD_PRODUCER_IDS,
        rules=ProduceRules(
            max_message_bytes=topic.max_message_bytes,
            timestamp_type=_TIMESTAMP_TYPES[topic.message_timestamp_type],
            timestamp_before_max_ms=topic.timestamp_before_limit_ms,
            timestamp_after_max_ms=topic.timestamp_after_limit_ms,
            codec=codec_of_topic(topic.compression_type),
            keys_required=topic.is_compacted,
        ),
    )
