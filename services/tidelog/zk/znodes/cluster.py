"""What the cluster has one of: its id, its features, the last block of producer ids, the nodes that always exist."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.kafka.types import BrokerId, ProducerId
from tidelog.zk.znodes.admin import DELETE_TOPICS, ISR_CHANGES, LOG_DIR_EVENTS
from tidelog.zk.znodes.configs import CONFIG_CHANGES, ConfigZnode
from tidelog.zk.znodes.encoding import Fields, encode_json
from tidelog.zk.znodes.membership import BROKER_IDS, BROKER_SEQUENCE_ID, CONTROLLER_IDS, COORDINATOR_IDS
from tidelog.zk.znodes.topics import SHARDS, TOPICS


class ClusterIdZnode:
    """/cluster/id: written by the first process to start; the version is text here and nowhere else.

    v1 {"version":"1","id":"22 characters of base64"}
    """

    PATH = "/cluster/id"

    @staticmethod
    def encode(cluster_id: str) -> bytes:
        return encode_json({"version": "1", "id": cluster_id})

    @staticmethod
    def decode(data: bytes) -> str:
        return Fields.parse(data, ClusterIdZnode.PATH).text("id")


@dataclass(frozen=True, slots=True)
class FeatureLevels:
    """The finalized features of the cluster; not in force unless enabled."""

    enabled: bool = True
    features: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


class FeatureZnode:
    """/feature.

    v1 {"features":{"f":{"min_version_level":1,"max_version_level":2}},"version":1,"status":1}, status 0 for disabled
    v2 is without min_version_level
    """

    PATH = "/feature"

    @staticmethod
    def encode(levels: FeatureLevels) -> bytes:
        features = {name: dict(versions) for name, versions in levels.features.items()}
        return encode_json({"features": features, "version": 2, "status": int(levels.enabled)})

    @staticmethod
    def decode(data: bytes) -> FeatureLevels:
        fields = Fields.parse(data, FeatureZnode.PATH)
        features = fields.object("features")
        named = {name: features.object(name) for name in features.names()}
        levels = {name: {level: one.integer(level) for level in one.names()} for name, one in named.items()}
        return FeatureLevels(fields.integer("status") == 1, levels)


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """A run of producer ids, both ends included, and the broker it was given to."""

    broker: BrokerId
    first: ProducerId
    last: ProducerId


class ProducerIdBlockZnode:
    """/latest_producer_id_block, created with null data and replaced only if its version is the one read.

    v1 {"version":1,"broker":0,"block_start":"0","block_end":"999"}
    """

    PATH = "/latest_producer_id_block"

    @staticmethod
    def encode(block: ProducerIdBlock) -> bytes:
        ends = {"block_start": str(block.first), "block_end": str(block.last)}
        return encode_json({"version": 1, "broker": block.broker, **ends})

    @staticmethod
    def decode(data: bytes) -> ProducerIdBlock | None:
        """None if no block was given out yet."""
        if not data:
            return None
        fields = Fields.parse(data, ProducerIdBlockZnode.PATH)
        first, last = ProducerId(fields.integer("block_start")), ProducerId(fields.integer("block_end"))
        return ProducerIdBlock(BrokerId(fields.integer("broker")), first, last)


# Created by every process that starts, with their parents.
TOP_LEVEL_NODES = (
    "/consumers",
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_SEQUENCE_ID,
    ISR_CHANGES,
    ProducerIdBlockZnode.PATH,
    LOG_DIR_EVENTS,
    *(ConfigZnode.parent(kind) for kind in ("topics", "clients", "users", "brokers", "ips")),
    CONTROLLER_IDS,
    COORDINATOR_IDS,
    SHARDS,
)
