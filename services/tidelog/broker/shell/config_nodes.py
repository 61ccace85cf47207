"""The config nodes of ZooKeeper: read, listed, and written together with the notification of the change."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from tidelog.broker.core.quota_entries import CLIENT_ID, IP, USER, QuotaOwner
from tidelog.zk.errors import BadVersion, ConnectionLost, NodeExists, NoNode, NotEmpty
from tidelog.zk.operations import Create, Delete, Op, SetData, Znode
from tidelog.zk.session import ZkSession
from tidelog.zk.znodes import ConfigChangeZnode, ConfigEntity, ConfigZnode, MalformedZnode

_TYPES = ("topics", "brokers", "clients", "ips")
_QUOTA_TYPES = (("users",), ("clients",), ("users", "clients"), ("ips",))
_TYPE_OF_KIND = {USER: "users", CLIENT_ID: "clients", IP: "ips"}
_KIND_OF_TYPE = {kind: name for name, kind in _TYPE_OF_KIND.items()}


@dataclass(frozen=True, slots=True)
class StoredConfig:
    """The entries of a config node, and its version; no version where there is no node."""

    entries: Mapping[str, str]
    version: int | None


def is_quota_entity(entity: ConfigEntity) -> bool:
    return tuple(kind for kind, _ in entity.parts) in _QUOTA_TYPES


def owner_of(entity: ConfigEntity) -> QuotaOwner:
    """Whose quotas are stored there."""
    return QuotaOwner(tuple((_KIND_OF_TYPE[kind], name) for kind, name in entity.parts))


def entity_of(owner: QuotaOwner) -> ConfigEntity:
    """Where an owner's quotas are stored."""
    return ConfigEntity(tuple((_TYPE_OF_KIND[kind], name) for kind, name in owner.parts))


class ConfigNodes:
    """What a broker does with /config."""

    def __init__(self, session: ZkSession) -> None:
        self._session = session

    async def read(self, entity: ConfigEntity) -> StoredConfig:
        """Raises MalformedZnode."""
        found = (await self.read_many([entity]))[0]
        if isinstance(found, MalformedZnode):
            raise found
        return found

    async def read_many(self, entities: Iterable[ConfigEntity]) -> list[StoredConfig | MalformedZnode]:
        nodes = await self._session.get_many([ConfigZnode.path(entity) for entity in entities])
        return [_stored(node) for node in nodes]

    async def entities(self) -> list[ConfigEntity]:
        """Everything that has a node."""
        paths = await self._session.tree(ConfigZnode.parent("users"))  # only users have anything below them
        for parent in map(ConfigZnode.parent, _TYPES):
            with suppress(NoNode):
                paths += [f"{parent}/{name}" for name in (await self._session.children(parent)).names]
        names = (path.removeprefix("/config/") for path in paths)
        return [ConfigEntity.parse(name) for name in names if name.count("/") % 2]

    async def write(self, entity: ConfigEntity, version: int | None, entries: Mapping[str, str]) -> bool:
        """Store the entries and announce the change, unless the node is not as it was read.

        False if it was not, and also if the connection broke: what is there then tells what became of it.
        """
        try:
            if not entries and version is not None and is_quota_entity(entity):
                await self._remove(entity, version)
            else:
                await self._session.multi([*await self._writing(entity, version, entries), _announcing(entity)])
        except (BadVersion, NodeExists, NoNode, ConnectionLost):
            return False
        return True

    async def _writing(self, entity: ConfigEntity, version: int | None, entries: Mapping[str, str]) -> list[Op]:
        path, data = ConfigZnode.path(entity), ConfigZnode.encode(entries)
        if version is not None:
            return [SetData(path, data, version)]
        steps = path.split("/")
        parents = ["/".join(steps[:depth]) for depth in range(3, len(steps))]
        found = await self._session.get_many(parents)
        missing = [parent for parent, node in zip(parents, found, strict=True) if node is None]
        return [*map(Create, missing), Create(path, data)]

    async def _remove(self, entity: ConfigEntity, version: int) -> None:
        """A quota's node goes with its last entry, and so do the parents that were only there for it."""
        path = ConfigZnode.path(entity)
        try:
            await self._session.multi([Delete(path, version), _announcing(entity)])
        except NotEmpty:
            # A user whose clients have quotas of their own.
            await self._session.multi([SetData(path, ConfigZnode.encode({}), version), _announcing(entity)])
            return
        if len(entity.parts) > 1:
            await self._prune(path.rpartition("/")[0])

    async def _prune(self, clients: str) -> None:
        for parent in (clients, clients.rpartition("/")[0]):
            with suppress(NoNode, NotEmpty, BadVersion, ConnectionLost, MalformedZnode):
                node = await self._session.get(parent)
                if not ConfigZnode.decode(node.data):
                    await self._session.delete(parent, node.version)


def _stored(node: Znode | None) -> StoredConfig | MalformedZnode:
    if node is None:
        return StoredConfig({}, None)
    try:
        return StoredConfig(ConfigZnode.decode(node.data), node.version)
    except MalformedZnode as error:
        return error


def _announcing(entity: ConfigEntity) -> Create:
    return Create(ConfigChangeZnode.CREATE_PATH, ConfigChangeZnode.encode(entity), sequence=True)
