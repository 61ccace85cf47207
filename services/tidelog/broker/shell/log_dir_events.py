"""Telling the controller that a log directory failed: it asks which replicas are gone, and elects others."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tidelog.zk.errors import ZkError
from tidelog.zk.znodes import LogDirEventZnode

if TYPE_CHECKING:
    from tidelog.kafka.types import BrokerId
    from tidelog.zk.session import ZkSession

_TRY_AGAIN_S = 0.2


async def announce_failed_dir(session: ZkSession, broker_id: BrokerId) -> None:
    """Repeated until it is written; told twice does no harm."""
    while True:
        try:
            await session.create(LogDirEventZnode.CREATE_PATH, LogDirEventZnode.encode(broker_id), sequence=True)
        except ZkError:
            await asyncio.sleep(_TRY_AGAIN_S)
        else:
            return
