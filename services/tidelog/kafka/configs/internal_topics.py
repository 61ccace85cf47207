"""Settings of the two internal topics, which every process that creates or reads them shares."""

from dataclasses import dataclass

from tidelog.kafka.configs.checks import at_least, between
from tidelog.kafka.configs.kinds import INT, SHORT
from tidelog.kafka.configs.setting import HIGH, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class InternalTopicSettings:
    """The shape of __consumer_offsets and __transaction_state; fixed once the topics exist."""

    __slots__ = ()

    offsets_topic_num_partitions: int = setting(
        "offsets.topic.num.partitions", INT, 50, at_least(1), "The partitions of __consumer_offsets.", importance=HIGH
    )
    offsets_topic_replication_factor: int = setting(
        "offsets.topic.replication.factor",
        SHORT,
        3,
        at_least(1),
        "The replicas of __consumer_offsets; at most the number of brokers.",
        importance=HIGH,
    )
    offsets_topic_segment_bytes: int = setting(
        "offsets.topic.segment.bytes",
        INT,
        104857600,
        at_least(1),
        "The segment size of __consumer_offsets; small segments compact and load faster.",
        importance=HIGH,
    )
    offsets_topic_compression_codec: int = setting(
        "offsets.topic.compression.codec",
        INT,
        0,
        between(0, 4),
        "The compression of __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
        importance=HIGH,
    )
    transaction_state_log_num_partitions: int = setting(
        "transaction.state.log.num.partitions",
        INT,
        50,
        at_least(1),
        "The partitions of __transaction_state.",
        importance=HIGH,
    )
    transaction_state_log_replication_factor: int = setting(
        "transaction.state.log.replication.factor",
        SHORT,
        3,
        at_least(1),
        "The replicas of __transaction_state; at most the number of brokers.",
        importance=HIGH,
    )
    transaction_state_log_segment_bytes: int = setting(
        "transaction.state.log.segment.bytes",
        INT,
        104857600,
        at_least(1),
        "The segment size of __transaction_state.",
        importance=HIGH,
    )
    transaction_state_log_min_isr: int = setting(
        "transaction.state.log.min.isr",
        INT,
        2,
        at_least(1),
        "The min.insync.replicas of __transaction_state.",
        importance=HIGH,
    )
