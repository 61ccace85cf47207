"""What Produce and Fetch tell a client that asked the wrong broker: who leads now, and where that broker is."""

from tidelog.kafka.wire.fields import int32, string
from tidelog.kafka.wire.schema import Struct


class LeaderIdAndEpoch(Struct):
    leader_id: int = int32(default=-1)
    leader_epoch: int = int32(default=-1)


class NodeEndpoint(Struct):
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)
