"""A ZooKeeper session with bad luck, for the moments that a test cannot time on a real network."""

from collections.abc import Sequence
from enum import Enum

from tidelog.zk.errors import ConnectionLost
from tidelog.zk.operations import Op, OpResult
from tidelog.zk.session import ZkSession


class Loss(Enum):
    """What the connection takes with it; the caller cannot tell one from the other."""

    REQUEST = "request"
    REPLY = "reply"


class UnluckySession(ZkSession):
    """Loses the connection in the middle of its next transaction, once for every time that `next_loss` is set."""

    next_loss: Loss | None = None

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        loss, self.next_loss = self.next_loss, None
        if loss is not Loss.REQUEST:
            results = await super().multi(ops)
        if loss is not None:
            raise ConnectionLost("lost on purpose")
        return results
