"""What one shard has to write: in order, one batch on its way at a time, and what piles up meanwhile goes together.

With one batch on its way there is nothing that could overtake it, and whatever comes while it is copied to the other
replicas shares the next one: the more is written, the less each write costs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.group_coordinator.shell.shard_log import InDoubtError
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.control import EndTransactionMarker, encode_marker
from tidelog.kafka.records.header import TRANSACTIONAL
from tidelog.kafka.records.record import Record, encode_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any

    from tidelog.group_coordinator.core.groups.effects import Producer
    from tidelog.group_coordinator.core.records import CoordinatorRecord
    from tidelog.group_coordinator.shell.shard_log import Appended, ShardLog
    from tidelog.runtime.clock import Clock

    Spawn = Callable[[Coroutine[Any, Any, None], str], object]

# A batch of many writes stays far below the smallest sensible max.message.bytes; one that is larger goes alone.
_SHARED_BYTES_MAX = 256 * 1024
_TOO_LARGE = frozenset({KafkaCode.MESSAGE_TOO_LARGE, KafkaCode.RECORD_LIST_TOO_LARGE})


@dataclass(frozen=True, slots=True, eq=False)
class Append:
    """Records, or the marker that ends a transaction, and whom to tell what became of them."""

    records: Sequence[CoordinatorRecord]
    on_committed: Callable[[], None]
    on_failed: Callable[[KafkaCode], None]
    producer: Producer | None = None
    marker: EndTransactionMarker | None = None

    @property
    def size(self) -> int:
        return sum(len(record.key) + len(record.value or b"") for record in self.records)


class AppendQueue:
    """The writes of one shard under one fence. Every append is reported once, in the order of the log."""

    def __init__(
        self,
        log: ShardLog,
        fence: int,
        clock: Clock,
        spawn: Spawn,
        on_doubt: Callable[[str], None],
        codec: Codec = Codec.NONE,
    ) -> None:
        self._log = log
        self._fence = fence
        self._clock = clock
        self._spawn = spawn
        self._on_doubt = on_doubt
        self._codec = codec
        self._waiting: deque[Append] = deque()
        self._drains = False
        self._is_closed = False

    def put(self, append: Append) -> None:
        if self._is_closed:
            append.on_failed(KafkaCode.NOT_LEADER_OR_FOLLOWER)
            return
        self._waiting.append(append)
        if not self._drains:
            self._drains = True
            self._spawn(self._drain(), "appends of a shard")

    def close(self) -> None:
        """Write nothing more. What is on its way is still reported as it turns out."""
        self._is_closed = True
        while self._waiting:
            self._waiting.popleft().on_failed(KafkaCode.NOT_LEADER_OR_FOLLOWER)

    async def _drain(self) -> None:
        try:
            while self._waiting:
                await self._append(self._take())
        finally:
            self._drains = False

    def _take(self) -> list[Append]:
        """The next append, and those behind it that may share its batch."""
        taken = [self._waiting.popleft()]
        size = taken[0].size
        while self._waiting and taken[0].producer is None and self._waiting[0].producer is None:
            size += self._waiting[0].size
            if size > _SHARED_BYTES_MAX:
                break
            taken.append(self._waiting.popleft())
        return taken

    async def _append(self, appends: list[Append]) -> None:
        try:
            appended = await self._log.append(self._encoded(appends), self._fence)
        except InDoubtError as doubt:
            self._give_up(appends, str(doubt))
            return
        if appended.code in _TOO_LARGE and len(appends) > 1:
            for one in appends:
                if self._is_closed:
                    one.on_failed(KafkaCode.NOT_LEADER_OR_FOLLOWER)
                else:
                    await self._append([one])
        elif appended.code is KafkaCode.INVALID_PRODUCER_EPOCH and appends[0].producer is None:
            self._give_up(appends, "the shard has a newer owner")
        else:
            _report(appends, appended)

    def _give_up(self, appends: list[Append], reason: str) -> None:
        # First the state is dropped, so that nobody is answered from it; then those who wait are told, in their order.
        self._is_closed = True
        self._waiting.extendleft(reversed(appends))
        self._on_doubt(reason)
        self.close()

    def _encoded(self, appends: list[Append]) -> bytearray:
        now_ms = self._clock.now_ms()
        first = appends[0]
        if first.marker is not None:
            assert first.producer is not None
            return encode_marker(
                first.marker,
                producer_id=first.producer.producer_id,
                producer_epoch=first.producer.producer_epoch,
                timestamp=now_ms,
            )
        records = [Record(record.key, record.value, now_ms) for one in appends for record in one.records]
        if first.producer is None:
            return encode_batch(records, codec=self._codec)
        return encode_batch(
            records,
            attributes=TRANSACTIONAL,
            codec=self._codec,
            producer_id=first.producer.producer_id,
            producer_epoch=first.producer.producer_epoch,
        )


def _report(appends: list[Append], appended: Appended) -> None:
    for one in appends:
        if appended.code is KafkaCode.NONE:
            one.on_committed()
        else:
            one.on_failed(appended.code)
