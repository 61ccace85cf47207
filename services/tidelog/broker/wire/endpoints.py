"""Which address of a broker a client is told: that of the listener that its request came in on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.kafka.types import GRPC_LISTENER
from tidelog.kafka.wire.messages.current_leader import NodeEndpoint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tidelog.kafka.cluster import ClusterView, Member
    from tidelog.kafka.types import Endpoint


def reachable_brokers(
    view: ClusterView, listener: str, also: Iterable[Member] = ()
) -> dict[int, tuple[Member, Endpoint]]:
    """The live brokers, and some more, that have this listener, with where they have it, in the order of their ids."""
    assert listener != GRPC_LISTENER, "Kafka clients come in on Kafka listeners"
    found = ((member, member.endpoint(listener)) for member in sorted((*view.brokers.values(), *also), key=_id))
    return {member.id: (member, endpoint) for member, endpoint in found if endpoint is not None}


def _id(member: Member) -> int:
    return member.id


def leader_endpoints(view: ClusterView, listener: str, leaders: Iterable[int]) -> list[NodeEndpoint]:
    """Where these brokers are, for a client that asked the wrong one; those that it cannot reach are left out."""
    reachable = reachable_brokers(view, listener) if leaders else {}
    found = (reachable[leader] for leader in sorted(leaders) if leader in reachable)
    return [
        NodeEndpoint(node_id=member.id, host=endpoint.host, port=endpoint.port, rack=member.rack)
        for member, endpoint in found
    ]
