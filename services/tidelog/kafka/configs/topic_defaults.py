"""Settings of topics as such, which brokers and controllers share."""

from dataclasses import dataclass

from tidelog.kafka.configs.checks import at_least
from tidelog.kafka.configs.kinds import BOOLEAN, INT
from tidelog.kafka.configs.setting import CLUSTER_WIDE, HIGH, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class TopicDefaultSettings:
    """What a topic gets that does not say otherwise, and what may be done with topics."""

    __slots__ = ()

    num_partitions: int = setting(
        "num.partitions", INT, 1, at_least(1), "The partitions of a topic that is created without a number."
    )
    default_replication_factor: int = setting(
        "default.replication.factor", INT, 1, at_least(1), "The replicas of a topic that is created without a number."
    )
    min_insync_replicas: int = setting(
        "min.insync.replicas",
        INT,
        1,
        at_least(1),
        "How many replicas must be in sync for a write with acks=all.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    unclean_leader_election_enable: bool = setting(
        "unclean.leader.election.enable",
        BOOLEAN,
        default=False,
        doc="Whether a replica that was not in sync may lead when no other can, at the price of records.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    auto_create_topics_enable: bool = setting(
        "auto.create.topics.enable",
        BOOLEAN,
        default=True,
        doc="Whether a topic is created when a client first asks for it.",
        importance=HIGH,
    )
    delete_topic_enable: bool = setting(
        "delete.topic.enable", BOOLEAN, default=True, doc="Whether topics may be deleted.", importance=HIGH
    )
