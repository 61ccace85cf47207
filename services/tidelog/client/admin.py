"""The admin client: topics, partitions, settings, groups, offsets, reassignments, elections, log directories,
transactions and quotas.

    async with Admin(bootstrap_servers="127.0.0.1:9092") as admin:
        await admin.create_topics([NewTopic("orders", partitions=6, replication_factor=3)])

A refusal is raised as KafkaError; its text begins with the name of what was refused.
"""

from collections.abc import Mapping
from typing import Any

from tidelog.client.administering.configs import ConfigAdmin
from tidelog.client.administering.groups import GroupAdmin
from tidelog.client.administering.partitions import PartitionAdmin
from tidelog.client.administering.quotas import QuotaAdmin
from tidelog.client.administering.topics import TopicAdmin
from tidelog.client.administering.transactions import TransactionAdmin
from tidelog.client.administering.values import (
    ActiveProducer,
    ClusterDescription,
    ConfigEntry,
    ConfigResource,
    ElectionType,
    GroupDescription,
    GroupListing,
    LogDir,
    MemberDescription,
    NewTopic,
    QuotaEntity,
    Reassignment,
    ReplicaInLogDir,
    ResourceType,
    TransactionDescription,
    TransactionListing,
)
from tidelog.client.configs.admin import AdminConfig
from tidelog.client.configs.reading import read_settings

__all__ = [
    "ActiveProducer",
    "Admin",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigResource",
    "ElectionType",
    "GroupDescription",
    "GroupListing",
    "LogDir",
    "MemberDescription",
    "NewTopic",
    "QuotaEntity",
    "Reassignment",
    "ReplicaInLogDir",
    "ResourceType",
    "TransactionDescription",
    "TransactionListing",
]


class Admin(TopicAdmin, ConfigAdmin, GroupAdmin, PartitionAdmin, TransactionAdmin, QuotaAdmin):
    """Administers a cluster. Settings are given by Kafka's names in a mapping, or as keyword arguments."""

    def __init__(self, settings: Mapping[str, Any] | None = None, **given: Any) -> None:
        config = read_settings(AdminConfig, settings, given)
        super().__init__(config)
        self.config = config
