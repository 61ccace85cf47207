"""Asking a leader where its log ends and starts, when it refused the offset from which its follower goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.core.partition_follower import Verdict
from tidelog.broker.shell.copying import code_of
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.net.connection import ConnectionLostError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.core.partition_follower import Step
    from tidelog.broker.shell.copying import Copy
    from tidelog.net.connection import Connection
    from tidelog.runtime.clock import Clock

_VERSION = 7
_TIMEOUT_S = 10.0
_LATEST, _EARLIEST = -1, -2


async def ask_until_settled(
    copy: Copy, connection: Connection | None, broker_id: int, is_current: Callable[[], bool], clock: Clock
) -> Verdict:
    """The latest offset, then perhaps the earliest, and the truncation that follows. IGNORE is to fetch on."""
    follower = copy.follower
    step: Step = Verdict.ASK_LATEST
    while step in (Verdict.ASK_LATEST, Verdict.ASK_EARLIEST) and is_current():
        asks_latest = step is Verdict.ASK_LATEST
        try:
            offset = await _offset(copy, connection, broker_id, _LATEST if asks_latest else _EARLIEST)
        except KafkaError as refusal:
            return copy.execute(follower.on_asking_failed(copy.asked.leader_epoch, refusal.code, clock.monotonic_ms()))
        step = follower.on_leader_latest(offset) if asks_latest else follower.on_leader_earliest(offset)
    return copy.execute(step) if is_current() else Verdict.IGNORE


async def _offset(copy: Copy, connection: Connection | None, broker_id: int, timestamp: int) -> int:
    if connection is None:
        raise KafkaError(KafkaCode.NETWORK_EXCEPTION)
    name = copy.partition.name
    asked = ListOffsetsPartition(
        partition_index=name.partition, current_leader_epoch=copy.asked.leader_epoch, timestamp=timestamp
    )
    request = ListOffsetsRequest(replica_id=broker_id, topics=[ListOffsetsTopic(name=name.topic, partitions=[asked])])
    try:
        response = await connection.call(request, _VERSION, timeout_s=_TIMEOUT_S)
        (answer,) = response.topics[0].partitions
    except (ConnectionLostError, TimeoutError, MalformedMessage, IndexError, ValueError) as error:
        raise KafkaError(KafkaCode.NETWORK_EXCEPTION, str(error)) from error
    if answer.error_code:
        raise KafkaError(code_of(answer.error_code))
    return answer.offset
