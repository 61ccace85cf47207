"""Where two logs of a partition part: the leader's check of a fetch, and how far a follower cuts its log back.

A follower tells the epoch of its last record with each fetch. The leader knows where that epoch ends in its own log; if
this is before the fetch offset, or if it never had that epoch, the logs differ (KIP-320), and it answers with the largest
epoch that it shares or could share, and where that ends. The follower cuts back to the end of the largest epoch that
both know. If it does not know the epoch it was told, it cuts back as far as its own log allows and asks again, with an
older epoch (KIP-279); each round loses at least one epoch, so this ends. Truncating to the high watermark instead, which
a follower learns one round later than the leader, would lose committed records (KIP-101).
"""

from typing import NamedTuple, Protocol

from tidelog.kafka.errors import KafkaCode, KafkaError

UNDEFINED = -1


class EpochAndEnd(Protocol):
    """An epoch and the offset after its last record; -1 and -1 if there is no answer."""

    @property
    def epoch(self) -> int: ...
    @property
    def end_offset(self) -> int: ...


class Truncation(NamedTuple):
    """Cut the log back to this offset; if not complete, the next fetch may well show another difference."""

    offset: int
    is_complete: bool


def diverges(fetch_offset: int, last_fetched_epoch: int, end: EpochAndEnd, log_start_offset: int) -> bool:
    """Must the leader (or a follower that serves a consumer) answer with `end` as diverging epoch, without records?

    `end` is where `last_fetched_epoch` ends in its log. OFFSET_OUT_OF_RANGE if it cannot tell, or has deleted that part.
    """
    if last_fetched_epoch == UNDEFINED:
        return False
    if end.epoch == UNDEFINED or end.end_offset == UNDEFINED:
        raise KafkaError(KafkaCode.OFFSET_OUT_OF_RANGE, f"The end of epoch {last_fetched_epoch} is not known.")
    if fetch_offset < log_start_offset:
        raise KafkaError(KafkaCode.OFFSET_OUT_OF_RANGE, f"The log starts at {log_start_offset}.")
    return end.epoch < last_fetched_epoch or end.end_offset < fetch_offset


def truncation(leader: EpochAndEnd, own: EpochAndEnd, log_end_offset: int, high_watermark: int) -> Truncation:
    """What to do about a diverging epoch that the leader answered.

    `own` is where the largest epoch not above the leader's one ends in our log.
    """
    if leader.end_offset == UNDEFINED:
        return Truncation(high_watermark, is_complete=True)
    if leader.epoch == UNDEFINED or own.epoch == UNDEFINED:
        return Truncation(min(leader.end_offset, log_end_offset), is_complete=True)
    if own.epoch != leader.epoch:
        return Truncation(min(own.end_offset, log_end_offset), is_complete=False)
    return Truncation(min(own.end_offset, leader.end_offset, log_end_offset), is_complete=True)
