"""Sessions on the chroot of a test."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from tidelog.zk.session import ZkSession

OpenSession = Callable[..., Any]


@pytest.fixture
async def open_session(connect: str) -> AsyncIterator[OpenSession]:
    """Opens sessions that end with the test."""
    async with AsyncExitStack() as stack:

        async def open_one(**options: Any) -> ZkSession:
            session = await stack.enter_async_context(ZkSession(connect, 6_000, **options))
            await session.connected()
            return session

        yield open_one


@pytest.fixture
async def session(open_session: OpenSession) -> ZkSession:
    opened: ZkSession = await open_session()
    return opened
