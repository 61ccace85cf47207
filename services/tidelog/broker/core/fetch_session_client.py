"""Incremental fetch sessions, the reader's side: a follower's next request to its leader, with only what changed.

One request is in flight at a time. What a reader wants is told with `put` and `remove` as it changes, so building the
next request costs as much as there were changes, not as there are partitions. After a failure of any kind the next
request is a full one, which closes the session that was open.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.broker.core.fetch_session import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchedPartition,
    PartitionKey,
    next_epoch,
)
from tidelog.kafka.errors import KafkaCode

if TYPE_CHECKING:
    from collections.abc import Collection


@dataclass(frozen=True, slots=True)
class FetchRequestPlan:
    """What the next Fetch says."""

    session_id: int
    epoch: int
    partitions: "list[FetchedPartition]"
    forgotten: "list[PartitionKey]"

    @property
    def is_full(self) -> bool:
        return self.epoch in (INITIAL_EPOCH, FINAL_EPOCH)


class FetchSessionClient:
    """What is wanted, what the leader knows of it, and the session's id and epoch."""

    __slots__ = ("_changed", "_epoch", "_forgotten", "_known", "_session_id", "_wanted")

    def __init__(self) -> None:
        self._session_id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._wanted: dict[PartitionKey, FetchedPartition] = {}
        self._changed: dict[PartitionKey, None] = {}
        self._forgotten: dict[PartitionKey, None] = {}
        # What the leader was told to send.
        self._known: set[PartitionKey] = set()

    def __len__(self) -> int:
        return len(self._wanted)

    def __contains__(self, key: PartitionKey) -> bool:
        return key in self._wanted

    @property
    def is_in_session(self) -> bool:
        return self._epoch != INITIAL_EPOCH

    def put(self, partition: FetchedPartition) -> None:
        """Fetch this from now on, or from another offset than before. The object may be the one that was given before."""
        key = partition.key
        self._wanted[key] = partition
        self._changed[key] = None
        if self._forgotten:
            self._forgotten.pop(key, None)

    def remove(self, key: PartitionKey) -> None:
        """Do not fetch this any more, or for a while.

        What was told of it is to be kept: if it is put back before the next request, the leader notices nothing.
        """
        if self._wanted.pop(key, None) is not None:
            self._changed.pop(key, None)
            self._forgotten[key] = None

    def start_over(self) -> None:
        """The next request is full and closes the session: for example because topics are named by id from now on."""
        self._epoch = INITIAL_EPOCH

    def build(self) -> FetchRequestPlan:
        """The next request. Its answer, or its failure, must be told before the next is built."""
        if self._epoch == INITIAL_EPOCH:
            partitions = list(self._wanted.values())
            self._known = set(self._wanted)
            forgotten: list[PartitionKey] = []
        else:
            wanted = self._wanted
            partitions = [wanted[key] for key in self._changed]
            forgotten = list(self._forgotten)
            self._known.update(self._changed)
            self._known.difference_update(forgotten)
        self._changed = {}
        self._forgotten = {}
        return FetchRequestPlan(self._session_id, self._epoch, partitions, forgotten)

    def close(self) -> FetchRequestPlan:
        """A last request that closes the session and asks for nothing."""
        return FetchRequestPlan(self._session_id, FINAL_EPOCH, [], [])

    def on_answer(self, code: KafkaCode, session_id: int, answered: "Collection[PartitionKey]") -> bool:
        """Whether the answer can be used. `answered` are the partitions that it contains."""
        if code is not KafkaCode.NONE:
            self._epoch = INITIAL_EPOCH
            if code is KafkaCode.FETCH_SESSION_ID_NOT_FOUND:
                self._session_id = NO_SESSION
            return False
        if not self._is_plausible(answered):
            self._epoch = INITIAL_EPOCH
            return False
        if session_id == NO_SESSION:
            # There was no room for one, or it was closed.
            self._session_id = NO_SESSION
            self._epoch = INITIAL_EPOCH
        else:
            self._session_id = session_id
            self._epoch = next_epoch(self._epoch)
        return True

    def on_failed(self) -> None:
        """No answer came; it is unknown whether the leader saw the request."""
        self._epoch = INITIAL_EPOCH

    def _is_plausible(self, answered: "Collection[PartitionKey]") -> bool:
        """A full answer contains everything that was asked, an incremental one nothing that is not in the session."""
        if self._epoch == INITIAL_EPOCH and len(answered) != len(self._known):
            return False
        return all(key in self._known for key in answered)
