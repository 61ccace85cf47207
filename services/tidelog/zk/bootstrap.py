"""What a starting process makes sure of in ZooKeeper: the nodes that always exist, the cluster's id, its features."""

from contextlib import suppress

from tidelog.zk.errors import ConnectionLost, NodeExists, NoNode
from tidelog.zk.operations import Create
from tidelog.zk.session import ZkSession
from tidelog.zk.znodes import TOP_LEVEL_NODES, ClusterIdZnode, FeatureLevels, FeatureZnode


async def create_top_level_nodes(session: ZkSession) -> None:
    """Create the persistent nodes that are missing, parents first, in one transaction."""
    paths = _with_parents(TOP_LEVEL_NODES)
    while missing := await _missing(session, paths):
        with suppress(NodeExists, ConnectionLost):
            await session.multi([Create(path) for path in missing])


async def _missing(session: ZkSession, paths: list[str]) -> list[str]:
    found = await session.get_many(paths)
    return [path for path, node in zip(paths, found, strict=True) if node is None]


async def ensure_cluster_id(session: ZkSession, proposed_id: str) -> str:
    """The cluster's id: the one that is there, else ours."""
    return ClusterIdZnode.decode(await _ensure(session, ClusterIdZnode.PATH, ClusterIdZnode.encode(proposed_id)))


async def ensure_features(session: ZkSession) -> FeatureLevels:
    """The cluster's feature levels, which start enabled and empty."""
    return FeatureZnode.decode(await _ensure(session, FeatureZnode.PATH, FeatureZnode.encode(FeatureLevels())))


async def _ensure(session: ZkSession, path: str, data: bytes) -> bytes:
    while True:
        try:
            return (await session.get(path)).data
        except NoNode:
            await session.ensure_path(path.rpartition("/")[0] or "/")
        with suppress(NodeExists, ConnectionLost):
            await session.multi([Create(path, data)])


def _with_parents(paths: tuple[str, ...]) -> list[str]:
    known: dict[str, None] = {}
    for path in paths:
        parts = path.strip("/").split("/")
        known.update(dict.fromkeys("/" + "/".join(parts[:depth]) for depth in range(1, len(parts) + 1)))
    return list(known)
