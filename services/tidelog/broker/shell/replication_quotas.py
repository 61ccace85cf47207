"""How fast replicas that the topics' settings list are copied, here as leader and here as follower."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.core.replication_quota import ReplicationQuota, throttled_partitions
from tidelog.runtime import logs

if TYPE_CHECKING:
    from tidelog.broker.shell.config_store import ConfigStore
    from tidelog.kafka.configs.broker import BrokerConfig
    from tidelog.kafka.configs.topic import TopicConfig

_logger = logs.get("replication")


class ReplicationQuotas:
    """The two bounds of this broker, kept as its settings and those of its topics change."""

    def __init__(self, config: BrokerConfig, configs: ConfigStore) -> None:
        samples, window_s = config.replication_quota_window_num, config.replication_quota_window_size_seconds
        self.leader = ReplicationQuota(samples, window_s)
        self.follower = ReplicationQuota(samples, window_s)
        self._broker_id = config.broker_id
        self._configs = configs
        self._take_broker(config)
        configs.on_broker_changed(self._take_broker)
        configs.on_topic_changed(self._take_topic)

    def on_hosted(self, topic: str) -> None:
        """A topic is here from now on; of its settings only changes are told."""
        self._take_topic(topic, self._configs.live.topic(topic))

    def _take_broker(self, config: BrokerConfig) -> None:
        self.leader.bound = config.leader_replication_throttled_rate
        self.follower.bound = config.follower_replication_throttled_rate

    def _take_topic(self, topic: str, config: TopicConfig) -> None:
        self._set(self.leader, topic, config.leader_replication_throttled_replicas)
        self._set(self.follower, topic, config.follower_replication_throttled_replicas)

    def _set(self, quota: ReplicationQuota, topic: str, replicas: tuple[str, ...]) -> None:
        try:
            quota.set_topic(topic, throttled_partitions(replicas, self._broker_id))
        except ValueError:
            # Tools check what they write, but the node can be written by hand.
            _logger.warning("throttled replicas not understood", topic=topic, replicas=",".join(replicas))
