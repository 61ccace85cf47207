"""Handing over before the broker stops: the controller moves what it leads, while it still serves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidelog.kafka.errors import KafkaError
from tidelog.rpc import controller_pb2
from tidelog.runtime import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tidelog.broker.shell.partitions import Partitions
    from tidelog.kafka.configs.broker import BrokerConfig
    from tidelog.rpc import types_pb2
    from tidelog.runtime.controller_client import ControllerClient

# How often it is looked whether it still makes sense to wait for another attempt.
_LOOK_AGAIN_S = 0.05
_CALL_TIMEOUT_MS = 5_000
# Of the time that the whole stop may take, so much is left for closing the logs.
_SHARE_OF_SHUTDOWN = 0.5

_logger = logs.get("shutdown")


async def hand_over(
    config: BrokerConfig, controller: ControllerClient, partitions: Partitions, own_epoch: Callable[[], int | None]
) -> None:
    """Ask the controller until nothing is led here any more that somebody else could lead, or until the tries are up."""
    epoch = own_epoch()
    if not config.controlled_shutdown_enable or epoch is None or not controller.mirror.known:
        return
    try:
        async with asyncio.timeout(config.shutdown_timeout_ms * _SHARE_OF_SHUTDOWN / 1000):
            await _hand_over(config, controller, partitions, epoch)
    except TimeoutError:
        _logger.warning("leaderships not handed over", why="it took too long")


async def _hand_over(
    config: BrokerConfig, controller: ControllerClient, partitions: Partitions, broker_epoch: int
) -> None:
    request = controller_pb2.ControlledShutdownRequest(broker_id=config.broker_id, broker_epoch=broker_epoch)
    for attempt in range(config.controlled_shutdown_max_retries + 1):
        if attempt and not await _is_worth_another(config, partitions):
            break
        try:
            answer = await controller.call("ControlledShutdown", request, _CALL_TIMEOUT_MS)
        except KafkaError as refusal:
            _logger.warning("leaderships not handed over", attempt=attempt + 1, why=refusal.message)
            continue
        if not answer.remaining:
            _logger.info("leaderships handed over", attempt=attempt + 1)
            return
        _logger.info("still leading", attempt=attempt + 1, partitions=_names(answer.remaining))
    _logger.warning("stopping as leader", partitions=sum(each.leader is not None for each in partitions))


async def _is_worth_another(config: BrokerConfig, partitions: Partitions) -> bool:
    """After the back-off; False at once when there is nobody left who could take over."""
    waited_ms = 0.0
    while waited_ms < config.controlled_shutdown_retry_backoff_ms:
        if not _can_move_something(partitions):
            return False
        await asyncio.sleep(_LOOK_AGAIN_S)
        waited_ms += _LOOK_AGAIN_S * 1000
    return True


def _can_move_something(partitions: Partitions) -> bool:
    live = partitions.view.brokers
    return any(
        replica != partitions.broker_id and replica in live
        for partition in partitions
        if partition.leader is not None
        for replica in partition.leader.isr
    )


def _names(remaining: Iterable[types_pb2.TopicPartition]) -> list[str]:
    return [f"{one.topic}-{one.partition}" for one in remaining]
