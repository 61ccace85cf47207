"""Which replica a consumer shall read from: one in its own rack, if that has what it wants (KIP-392)."""

from typing import TYPE_CHECKING

from tidelog.kafka.types import BrokerId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tidelog.broker.core.partition_leader import Follower, PartitionLeader

NO_PREFERENCE = BrokerId(-1)


def preferred_read_replica(
    rack_id: str, fetch_offset: int, leader: "PartitionLeader", racks: "Mapping[BrokerId, str | None]"
) -> BrokerId:
    """The broker to name in the answer, without records; NO_PREFERENCE to serve the consumer here.

    `racks` holds the live brokers that have the listener the consumer came by. Only members of the ISR come into
    question: one that lags would be chosen again and again, and its readers would fall behind.
    """
    if not rack_id or racks.get(leader.broker_id) == rack_id:
        return NO_PREFERENCE
    best: Follower | None = None
    for follower in leader.followers:
        if (
            racks.get(follower.broker_id) == rack_id
            and follower.broker_id in leader.isr
            and 0 <= follower.log_start_offset <= fetch_offset <= follower.log_end_offset
            and (best is None or _freshness(follower) > _freshness(best))
        ):
            best = follower
    return NO_PREFERENCE if best is None else best.broker_id


def _freshness(follower: "Follower") -> tuple[int, float, int]:
    return follower.log_end_offset, follower.last_caught_up_ms, follower.broker_id
