"""Taking over a shard: fence off whoever had it, then read its log up to the fence.

Once the fence marker is committed nobody else can append, so what was read up to it is all that there is.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from tidelog.group_coordinator.core.records import CoordinatorRecord
from tidelog.group_coordinator.core.transactions.state_records import MalformedRecord
from tidelog.kafka.coordination.fencing import fence_marker
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.records.control import MarkerType, read_marker
from tidelog.kafka.records.header import HEADER_SIZE, BatchHeader, read_header
from tidelog.kafka.records.opened import opened_batch, record_blocks
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.runtime import logs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tidelog.group_coordinator.shell.shard_log import ShardLog

# How long until a leader that refused or did not answer is asked again.
_RETRY_S = 0.1
# Records that are replayed before others get their turn on the event loop: about two milliseconds.
_TURN_RECORDS = 500

_logger = logs.get("shards")


class Replayed(Protocol):
    """What is being loaded."""

    def replay(self, record: CoordinatorRecord, producer_id: int | None) -> None:
        """One record, with its producer's id if it is part of a transaction. Raises MalformedMessage or MalformedRecord."""
        ...

    def on_transaction_marker(self, producer_id: int, *, committed: bool) -> None: ...


class FencedError(Exception):
    """The shard's log holds the marker of a newer owner."""


async def put_up_fence(log: ShardLog, fence: int, now_ms: int) -> int:
    """Append the fence marker; gives its offset. Raises FencedError, and InDoubtError as every append."""
    batch = fence_marker(log.name.topic, log.name.partition, fence, now_ms)
    while True:
        appended = await log.append(batch, fence)
        if appended.code is KafkaCode.NONE:
            return appended.offset
        if appended.code in (KafkaCode.INVALID_PRODUCER_EPOCH, KafkaCode.TRANSACTION_COORDINATOR_FENCED):
            raise FencedError
        _logger.info("no fence yet", shard=str(log.name), reason=appended.code.name)
        await asyncio.sleep(_RETRY_S)


async def replay_up_to(log: ShardLog, end_offset: int, into: Replayed, fetch_bytes: int) -> int:
    """Replay everything before this offset; gives how many records there were."""
    offset = await _start_offset(log)
    count = 0
    while offset < end_offset:
        fetched = await log.fetch(offset, fetch_bytes)
        if fetched is None:
            await asyncio.sleep(_RETRY_S)
            continue
        offset = max(offset, fetched.log_start_offset)
        turn = 0
        for header, batch in _batches(memoryview(fetched.records)):
            if header.base_offset >= end_offset:
                break
            replayed = _replay_batch(log, header, batch, into) if header.last_offset >= offset else 0
            offset = header.last_offset + 1
            count += replayed
            turn += replayed
            if turn >= _TURN_RECORDS:
                turn = 0
                await asyncio.sleep(0)
    return count


async def _start_offset(log: ShardLog) -> int:
    while True:
        offset = await log.start_offset()
        if offset is not None:
            return offset
        await asyncio.sleep(_RETRY_S)


def _batches(data: memoryview) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Whole batches; a fetch may end in the middle of one."""
    at = 0
    while at + HEADER_SIZE <= len(data):
        header = read_header(data[at:])
        if at + header.size > len(data):
            return
        yield header, data[at : at + header.size]
        at += header.size


def _replay_batch(log: ShardLog, header: BatchHeader, batch: memoryview, into: Replayed) -> int:
    if header.is_control:
        marker = read_marker(batch)
        if marker is not None:
            into.on_transaction_marker(header.producer_id, committed=marker.marker_type is MarkerType.COMMIT)
        return 1
    producer_id = header.producer_id if header.is_transactional else None
    count = 0
    for block in record_blocks(opened_batch(batch, header)):
        for record in block:
            count += 1
            if record.key is None:
                continue
            try:
                into.replay(CoordinatorRecord(bytes(record.key), record.value), producer_id)
            except (MalformedMessage, MalformedRecord) as fault:
                # One record that nobody can read must not make a whole shard unavailable.
                _logger.warning("unreadable record", shard=str(log.name), offset=record.offset, why=str(fault))
    return count
