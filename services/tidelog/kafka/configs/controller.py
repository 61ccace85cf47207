"""All settings of a controller process."""

from dataclasses import dataclass

from tidelog.kafka.configs.checks import at_least
from tidelog.kafka.configs.elections import ElectionSettings
from tidelog.kafka.configs.internal_topics import InternalTopicSettings
from tidelog.kafka.configs.kinds import BOOLEAN, INT, LONG
from tidelog.kafka.configs.service import ZooKeeperConfig
from tidelog.kafka.configs.setting import HIGH, LOW, REQUIRED, setting
from tidelog.kafka.configs.topic_defaults import TopicDefaultSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerConfig(TopicDefaultSettings, ElectionSettings, InternalTopicSettings, ZooKeeperConfig):
    """Everything a controller can be told."""

    controller_id: int = setting(
        "controller.id",
        INT,
        REQUIRED,
        at_least(0),
        "The controller's number, unique among the controllers.",
        importance=HIGH,
    )
    early_fencing_enable: bool = setting(
        "early.fencing.enable",
        BOOLEAN,
        default=True,
        doc="Whether a broker whose connections break and are refused is fenced at once, before its session expires.",
    )
    unclean_leader_election_interval_ms: int = setting(
        "unclean.leader.election.interval.ms",
        LONG,
        300000,
        at_least(1),
        "How often partitions without a leader are looked at for an unclean election.",
        importance=LOW,
    )
    request_timeout_ms: int = setting(
        "request.timeout.ms",
        INT,
        30000,
        at_least(1),
        "How long the controller waits for the answer to a request of its own.",
        importance=HIGH,
    )
    controller_quota_window_num: int = setting(
        "controller.quota.window.num",
        INT,
        11,
        at_least(1),
        "How many windows the rate of changes to topics is measured over.",
        importance=LOW,
    )
    controller_quota_window_size_seconds: int = setting(
        "controller.quota.window.size.seconds",
        INT,
        1,
        at_least(1),
        "The length of each of these windows.",
        importance=LOW,
    )
