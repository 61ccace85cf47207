"""A process that starts waits for ZooKeeper, however often its session ends meanwhile."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

import pytest

from tidelog.zk.errors import ConnectionLost, SessionExpired, ZkError
from tidelog.zk.membership import prepare_cluster
from tidelog.zk.operations import Stat, Znode
from tidelog.zk.znodes import ClusterIdZnode, FeatureLevels, FeatureZnode

if TYPE_CHECKING:
    from tidelog.zk.session import ZkSession

CLUSTER_ID = "c" * 22
CONTENTS = {
    ClusterIdZnode.PATH: ClusterIdZnode.encode(CLUSTER_ID),
    FeatureZnode.PATH: FeatureZnode.encode(FeatureLevels()),
}


class Interrupted:
    """A session in which the first reads fail."""

    def __init__(self, *faults: ZkError) -> None:
        self.connections = 0
        self._faults = list(faults)

    async def connected(self) -> None:
        self.connections += 1

    async def get(self, path: str) -> Znode:
        if self._faults:
            raise self._faults.pop(0)
        return Znode(CONTENTS.get(path, b""), Stat(1, 1, 0, 0, 0, 0, 0, 0, 1))

    async def get_many(self, paths: Iterable[str]) -> list[Znode]:
        return [await self.get(path) for path in paths]


@pytest.mark.parametrize("fault", [SessionExpired("the session expired"), ConnectionLost("no answer")])
async def test_a_session_that_ends_during_the_start_is_followed_by_another(fault: ZkError) -> None:
    session = Interrupted(fault, fault)
    assert await prepare_cluster(cast("ZkSession", session)) == CLUSTER_ID
    assert session.connections == 3
