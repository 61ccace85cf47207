"""What a topic gets that nobody created by hand: one that a client asked for first, or one of the internal ones."""

from typing import TYPE_CHECKING, NamedTuple

from tidelog.kafka.cluster import CONSUMER_OFFSETS, TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidelog.kafka.configs.broker import BrokerConfig


class TopicShape(NamedTuple):
    partitions: int
    replication_factor: int
    configs: "Mapping[str, str]"


def topic_shape(name: str, config: "BrokerConfig") -> TopicShape:
    """How a topic of this name is created."""
    if name == CONSUMER_OFFSETS:
        return TopicShape(
            config.offsets_topic_num_partitions,
            config.offsets_topic_replication_factor,
            {
                "cleanup.policy": "compact",
                "segment.bytes": str(config.offsets_topic_segment_bytes),
                "compression.type": "producer",
            },
        )
    if name == TRANSACTION_STATE:
        return TopicShape(
            config.transaction_state_log_num_partitions,
            config.transaction_state_log_replication_factor,
            {
                "cleanup.policy": "compact",
                "segment.bytes": str(config.transaction_state_log_segment_bytes),
                "compression.type": "uncompressed",
                "unclean.leader.election.enable": "false",
                "min.insync.replicas": str(config.transaction_state_log_min_isr),
            },
        )
    return TopicShape(config.num_partitions, config.default_replication_factor, {})
