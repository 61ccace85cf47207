"""All that a controller writes, behind a check that no other was elected since."""

from collections.abc import Iterable, Sequence
from functools import partial

from tidelog.zk.errors import BadVersion, ConnectionLost, NoNode, NotEmpty, SessionExpired, ZkError
from tidelog.zk.operations import Check, Delete, Op, OpResult, pack
from tidelog.zk.session import ZkSession
from tidelog.zk.znodes import ControllerEpochZnode, ControllerZnode


class ControllerMoved(ZkError):  # noqa: N818 - Kafka's name for it
    """Another controller was elected: nothing of this transaction was written, and nothing will be."""


class ControllerWriter:
    """Writes that carry the version of /controller_epoch from the election that we won."""

    def __init__(self, session: ZkSession, epoch_zk_version: int) -> None:
        self.session = session
        self.epoch_zk_version = epoch_zk_version
        self._check = Check(ControllerEpochZnode.PATH, epoch_zk_version)

    async def multi(self, ops: Sequence[Op]) -> list[OpResult]:
        """All or nothing, in one transaction with the check; an error's index counts without the check."""
        try:
            results = await self.session.multi([self._check, *ops])
        except ZkError as error:
            raise _translated(error) from error
        return results[1:]

    async def write(self, ops: Iterable[Op]) -> list[OpResult]:
        """Write many operations, each on its own account but few to a transaction; raises the first error."""
        results: list[OpResult] = []
        for outcome in await self.try_write(ops):
            if isinstance(outcome, ZkError):
                raise outcome
            results.append(outcome)
        return results

    async def try_write(self, ops: Iterable[Op]) -> list[OpResult | ZkError]:
        """As `write`, with an error in the place of its operation; raises only ControllerMoved and SessionExpired."""
        batches = list(pack(ops))
        outcomes = await self._multis(batches)
        results: list[OpResult | ZkError] = []
        for batch, outcome in zip(batches, outcomes, strict=True):
            results.extend(await self._settle(batch, outcome))
        return results

    async def delete_recursive(self, path: str) -> None:
        """Delete a node and all below it; what is gone already is fine."""
        while doomed := await self.session.tree(path):
            for outcome in await self.try_write(map(Delete, doomed)):
                # Somebody else deleted or created below: look again.
                if isinstance(outcome, ZkError) and not isinstance(outcome, (NoNode, NotEmpty)):
                    raise outcome

    async def _settle(self, batch: Sequence[Op], outcome: list[OpResult] | ZkError) -> Sequence[OpResult | ZkError]:
        if isinstance(outcome, list):
            return outcome
        if isinstance(outcome, ConnectionLost) or len(batch) == 1:
            return [outcome] * len(batch)
        # One operation of the batch failed and took the others with it: send each alone, as if never packed.
        alone = await self._multis([(op,) for op in batch])
        return [one if isinstance(one, ZkError) else one[0] for one in alone]

    async def _multis(self, batches: Sequence[Sequence[Op]]) -> list[list[OpResult] | ZkError]:
        outcomes = await self.session.pipeline(partial(self.multi, batch) for batch in batches)
        for outcome in outcomes:
            if isinstance(outcome, (ControllerMoved, SessionExpired)):
                raise outcome
        return outcomes


async def resign(writer: ControllerWriter) -> None:
    """Give /controller up, so that another is elected at once; nothing happens if it is not ours any more."""
    try:
        await writer.multi([Delete(ControllerZnode.PATH)])
    except (ControllerMoved, NoNode):
        return


def _translated(error: ZkError) -> ZkError:
    # The check is the first operation; the same error at a later index is about that operation alone.
    if error.index == 0:
        moved = isinstance(error, (BadVersion, NoNode))
        return ControllerMoved("another controller was elected", path=error.path) if moved else error
    return type(error)(error.message, path=error.path, index=error.index - 1)
