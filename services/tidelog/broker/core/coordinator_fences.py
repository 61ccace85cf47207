"""Which coordinator may write to a shard: see kafka/coordination/fencing.py for what a fence is.

A coordinator that takes a shard over raises the fence with a marker. Until then it may write nothing else, and from then
on none of its predecessors may.
"""

from tidelog.kafka.coordination.fencing import epoch_of
from tidelog.kafka.errors import KafkaCode, KafkaError


def check_fence(fence: int, known: int, *, is_marker: bool) -> None:
    """INVALID_PRODUCER_EPOCH for a write with this fence where `known` is the highest so far.

    A leader that is new does not know how often the owner started over in this epoch; the markers are in its log.
    """
    if fence < known:
        raise KafkaError(KafkaCode.INVALID_PRODUCER_EPOCH, f"Fence {fence} of a coordinator is lower than {known}.")
    if epoch_of(fence) > epoch_of(known) and not is_marker:
        raise KafkaError(
            KafkaCode.INVALID_PRODUCER_EPOCH, f"Fence {fence} of a coordinator has no marker; the highest is {known}."
        )
