"""Incremental fetch sessions, the server's side (KIP-227): what a fetch asks for and what its answer must contain.

A session remembers the partitions of a reader and what the reader was last told of each, so that a request names only
what changed and an answer only what is new. Every request of a session carries the session's epoch, one more each time;
so a lost or repeated request shows, and the reader starts over with a full fetch.

    session id  epoch  is
    any          -1    a full fetch without a session; a session that is named is closed
    any           0    a full fetch that opens a session if there is room; one that is named is closed
    known         n    the next fetch of that session

A fetch is answered through its context: `partitions` to read, in order; then `begin_answer`, `includes` for each
partition that was read, and `finish`, which gives the session id for the response.
"""

from typing import TYPE_CHECKING

from tidelog.kafka.errors import KafkaCode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_EPOCH_MAX = (1 << 31) - 1
NOT_COMPARED = -2
_NEVER_SENT = -2
_SEND_AGAIN = -1

# A topic as the wire tells it, by name or, from Fetch v13 on, by the 16 bytes of its id; and the partition's number.
PartitionKey = tuple[bytes, int]


def next_epoch(epoch: int) -> int:
    """Epochs of a session go on from 1 when they run out: 0 and -1 have meanings of their own."""
    return 1 if epoch == _EPOCH_MAX else epoch + 1


class FetchedPartition:
    """What a reader asks of one partition, and in a session what it was last told of it."""

    __slots__ = (
        "agreed_epoch",
        "fetch_offset",
        "key",
        "last_fetched_epoch",
        "leader_epoch",
        "log_start_offset",
        "max_bytes",
        "sent_high_watermark",
        "sent_log_start",
    )

    def __init__(
        self,
        key: PartitionKey,
        fetch_offset: int,
        max_bytes: int,
        leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
        log_start_offset: int = -1,
    ) -> None:
        """`log_start_offset` is the reader's own, if it is a follower."""
        self.key = key
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.leader_epoch = leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        # The leader epoch in which the reader's log was found to be the same as the leader's up to the fetch offset.
        self.agreed_epoch = NOT_COMPARED
        self.sent_high_watermark = _NEVER_SENT
        self.sent_log_start = _NEVER_SENT

    def ask(self, asked: "FetchedPartition") -> None:
        """The reader asks for something else from now on."""
        self.fetch_offset = asked.fetch_offset
        self.max_bytes = asked.max_bytes
        self.leader_epoch = asked.leader_epoch
        self.last_fetched_epoch = asked.last_fetched_epoch
        self.log_start_offset = asked.log_start_offset
        self.agreed_epoch = NOT_COMPARED

    def is_news(self, high_watermark: int, log_start_offset: int, size: int, *, must_tell: bool) -> bool:
        """Does an incremental answer contain this partition? What it says counts as told afterwards.

        `must_tell`: an error, a diverging epoch or a preferred read replica.
        """
        if must_tell:
            # Sent again when it is over, whatever the offsets are then.
            self.sent_high_watermark = _SEND_AGAIN
            self.sent_log_start = log_start_offset
            return True
        if high_watermark == self.sent_high_watermark and log_start_offset == self.sent_log_start:
            return size > 0
        self.sent_high_watermark = high_watermark
        self.sent_log_start = log_start_offset
        return True


class FetchSession:
    """One reader's session. The order of its partitions is the order in which they are read."""

    __slots__ = (
        "created_ms",
        "epoch",
        "id",
        "is_follower",
        "known_size",
        "last_used_ms",
        "partitions",
        "uses_topic_ids",
    )

    def __init__(
        self,
        id: int,
        partitions: "dict[PartitionKey, FetchedPartition]",
        now_ms: float,
        *,
        is_follower: bool,
        uses_topic_ids: bool,
    ) -> None:
        self.id = id
        self.partitions = partitions
        self.is_follower = is_follower
        self.uses_topic_ids = uses_topic_ids
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        # The number of partitions by which the cache has filed it.
        self.known_size = -1

    def update(self, asked: "Iterable[FetchedPartition]", forgotten: "Iterable[PartitionKey]") -> None:
        partitions = self.partitions
        for partition in asked:
            known = partitions.get(partition.key)
            if known is None:
                partitions[partition.key] = partition
            else:
                known.ask(partition)
        for key in forgotten:
            partitions.pop(key, None)

    def rotate(self, keys: "Iterable[PartitionKey]") -> None:
        """Those that gave records go to the end, so that the others get their turn when a response is full."""
        for key in keys:
            partition = self.partitions.pop(key, None)
            if partition is not None:
                self.partitions[key] = partition


class SessionlessFetch:
    """A full fetch that opens no session: everything is answered."""

    __slots__ = ("partitions",)

    def __init__(self, partitions: "Collection[FetchedPartition]") -> None:
        self.partitions = partitions

    def begin_answer(self) -> KafkaCode:
        """The code for the whole response; if it is not NONE the response contains nothing else."""
        return KafkaCode.NONE

    def includes(
        self,
        partition: FetchedPartition,
        high_watermark: int,
        log_start_offset: int,
        size: int,
        *,
        must_tell: bool = False,
    ) -> bool:
        """Does the response contain this partition? `must_tell`: an error, divergence, or a preferred read replica."""
        partition.is_news(high_watermark, log_start_offset, size, must_tell=must_tell)
        return True

    def finish(self, now_ms: float) -> int:  # noqa: ARG002
        """The session id for the response."""
        return NO_SESSION

    def throttled_session_id(self) -> int:
        """The session id for an empty response to a reader that is throttled."""
        return NO_SESSION


class FullFetch(SessionlessFetch):
    """A full fetch that opens a session with its answer, if there is room."""

    __slots__ = ("_open_session",)

    def __init__(
        self, partitions: "Collection[FetchedPartition]", open_session: "Callable[[float], FetchSession | None]"
    ) -> None:
        super().__init__(partitions)
        self._open_session = open_session

    def finish(self, now_ms: float) -> int:
        session = self._open_session(now_ms)
        return NO_SESSION if session is None else session.id


class IncrementalFetch(SessionlessFetch):
    """A fetch of a session: what is not new is left out of the answer."""

    __slots__ = ("_answered_epoch", "_gave_records", "_session")

    def __init__(self, session: FetchSession) -> None:
        super().__init__(session.partitions.values())
        self._session = session
        self._answered_epoch = session.epoch
        self._gave_records: list[PartitionKey] = []

    def begin_answer(self) -> KafkaCode:
        # While this one was parked the reader may have gone on without it; what it is told now it would take amiss.
        outdated = self._session.epoch != self._answered_epoch
        return KafkaCode.INVALID_FETCH_SESSION_EPOCH if outdated else KafkaCode.NONE

    def includes(
        self,
        partition: FetchedPartition,
        high_watermark: int,
        log_start_offset: int,
        size: int,
        *,
        must_tell: bool = False,
    ) -> bool:
        if size:
            self._gave_records.append(partition.key)
        return partition.is_news(high_watermark, log_start_offset, size, must_tell=must_tell)

    def finish(self, now_ms: float) -> int:  # noqa: ARG002
        if self._gave_records and len(self._session.partitions) > 1:
            self._session.rotate(self._gave_records)
        return self._session.id

    def throttled_session_id(self) -> int:
        return self._session.id


class RefusedFetch(SessionlessFetch):
    """A fetch that names no session we know, or is not its next."""

    __slots__ = ("_code",)

    def __init__(self, code: KafkaCode) -> None:
        super().__init__(())
        self._code = code

    def begin_answer(self) -> KafkaCode:
        return self._code
