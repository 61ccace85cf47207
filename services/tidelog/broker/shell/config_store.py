"""Dynamic configuration: read from ZooKeeper at the start, followed live, and changed for clients on whichever broker.

Creating a topic announces no change, so the configuration of a topic that is new to this broker must be loaded. All
other changes are announced; every broker hears of them, this one too, and reads the node. A change that is made here is
in force here before its author is answered.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

from tidelog.broker.core.live_config import ConfigUpdate, LiveConfig
from tidelog.broker.core.quota_entries import QuotaOwner, QuotaTable
from tidelog.broker.shell.config_nodes import ConfigNodes, entity_of, is_quota_entity, owner_of
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.topic import TopicConfig
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.runtime import logs
from tidelog.runtime.background import Background
from tidelog.runtime.clock import Clock
from tidelog.zk.errors import ZkError
from tidelog.zk.session import ZkSession, ZkState
from tidelog.zk.watches import NotificationWatch
from tidelog.zk.znodes import CONFIG_CHANGE_PREFIX, CONFIG_CHANGES, ConfigChangeZnode, ConfigEntity, MalformedZnode

# Whoever finds that somebody else was faster tries again; so many times in a row is not bad luck.
_ATTEMPTS_MAX = 20

_logger = logs.get("config")

Entries = Mapping[str, str]


class ConfigStore:
    """The only writer of `live` and `quotas`. Whoever must act on a change asks to be told."""

    def __init__(self, session: ZkSession, static: BrokerConfig) -> None:
        self.live = LiveConfig(static)
        self.quotas = QuotaTable()
        self.broker_id = static.broker_id
        self._session = session
        self._nodes = ConfigNodes(session)
        self._own, self._cluster = ConfigEntity.broker(static.broker_id), ConfigEntity.broker(None)
        self._topic_listeners: list[Callable[[str, TopicConfig], None]] = []
        self._broker_listeners: list[Callable[[BrokerConfig], None]] = []
        self._quota_listeners: list[Callable[[QuotaOwner, Mapping[str, float]], None]] = []
        # What has entries, so that a reload notices what has gone.
        self._present: set[ConfigEntity] = set()
        # Reading and taking over belong together, so that an older reading never replaces a newer one.
        self._taking = asyncio.Lock()
        self._outdated: dict[ConfigEntity, None] = {}
        self._everything_outdated = True
        self._loaded = asyncio.Event()
        self._woken = asyncio.Event()

    def on_topic_changed(self, react: Callable[[str, TopicConfig], None]) -> None:
        """Told of topics that `live` was asked for, also when it is a broker's setting that shines through."""
        self._topic_listeners.append(react)

    def on_broker_changed(self, react: Callable[[BrokerConfig], None]) -> None:
        self._broker_listeners.append(react)

    def on_quota_changed(self, react: Callable[[QuotaOwner, Mapping[str, float]], None]) -> None:
        """Told all quotas of the owner; none where there are no more."""
        self._quota_listeners.append(react)

    @asynccontextmanager
    async def followed(self, tasks: Background, clock: Clock) -> AsyncIterator[None]:
        """Everything has been read when the context is entered, and is followed until it is left."""
        self._session.add_state_listener(self._on_state)
        following = tasks.spawn(self._follow(), "config changes")
        watch = NotificationWatch(
            self._session, CONFIG_CHANGES, CONFIG_CHANGE_PREFIX, self._on_notification, clock.now_ms
        )
        self._woken.set()
        try:
            await self._loaded.wait()
            yield
        finally:
            watch.stop()
            following.cancel()
            self._session.remove_state_listener(self._on_state)

    async def read(self, entity: ConfigEntity) -> Entries:
        """The entries as ZooKeeper has them now."""
        with _refusing():
            return (await self._nodes.read(entity)).entries

    async def load_topic(self, name: str) -> TopicConfig:
        """The configuration of a topic that is new here."""
        with _refusing():
            await self._take([ConfigEntity.topic(name)])
        return self.live.topic(name)

    async def change(
        self, entity: ConfigEntity, decide: Callable[[Entries], Entries], *, validate_only: bool = False
    ) -> None:
        """Store what `decide` makes of the entries; it may refuse, and is asked again if somebody else was faster."""
        with _refusing():
            for _ in range(_ATTEMPTS_MAX):
                stored = await self._nodes.read(entity)
                entries = decide(stored.entries)
                if validate_only:
                    return
                if entries == stored.entries or await self._nodes.write(entity, stored.version, entries):
                    await self._take([entity])
                    return
            raise KafkaError(KafkaCode.REQUEST_TIMED_OUT, "others are changing the same configuration all the time")

    async def change_quotas(
        self, owner: QuotaOwner, decide: Callable[[Entries], Entries], *, validate_only: bool = False
    ) -> None:
        """The same for the entries of somebody who has quotas."""
        await self.change(entity_of(owner), decide, validate_only=validate_only)

    async def change_user(self, user: str, decide: Callable[[Entries], Entries]) -> None:
        """The same for the entries of a user, among which credentials are beside quotas."""
        await self.change(ConfigEntity((("users", user),)), decide)

    async def read_users(self) -> dict[str, Entries]:
        """The entries of every user as ZooKeeper has them now; the default of all users is none."""
        stored = await self._read_all(lambda entity: [kind for kind, _ in entity.parts] == ["users"])
        users = ((entity.parts[0][1], entries) for entity, entries in stored.items())
        return {user: entries for user, entries in users if user is not None}

    async def read_quotas(self) -> QuotaTable:
        """All quotas as ZooKeeper has them now, those included that this broker was not told of yet."""
        table = QuotaTable()
        for entity, entries in (await self._read_all(is_quota_entity)).items():
            table.take(owner_of(entity), entries)
        return table

    async def _read_all(self, is_wanted: Callable[[ConfigEntity], bool]) -> dict[ConfigEntity, Entries]:
        with _refusing():
            entities = [entity for entity in await self._nodes.entities() if is_wanted(entity)]
            stored = await self._nodes.read_many(entities)
        return {
            entity: found.entries
            for entity, found in zip(entities, stored, strict=True)
            if not isinstance(found, MalformedZnode)
        }

    def _on_notification(self, data: bytes) -> None:
        try:
            self._outdated[ConfigChangeZnode.decode(data)] = None
        except MalformedZnode as error:
            _logger.warning("a config change is left out", reason=str(error))
        self._woken.set()

    def _on_state(self, state: ZkState) -> None:
        # Notifications are kept for fifteen minutes, so who was away for a whole session may have missed some.
        if state is ZkState.LOST:
            self._everything_outdated = True
        elif state is ZkState.CONNECTED:
            self._woken.set()

    async def _follow(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            try:
                await self._catch_up()
            except ZkError as error:
                _logger.info("configurations are read again", reason=str(error))
                await self._session.connected()
                self._woken.set()

    async def _catch_up(self) -> None:
        if self._everything_outdated:
            self._everything_outdated = False
            try:
                found = await self._nodes.entities()
                await self._take(dict.fromkeys((*found, *self._present)))
            except ZkError:
                self._everything_outdated = True
                raise
            self._loaded.set()
        outdated, self._outdated = self._outdated, {}
        try:
            await self._take(outdated)
        except ZkError:
            self._outdated = {**outdated, **self._outdated}
            raise

    async def _take(self, entities: Iterable[ConfigEntity]) -> None:
        wanted = [entity for entity in entities if self._concerns_us(entity)]
        async with self._taking:
            for entity, stored in zip(wanted, await self._nodes.read_many(wanted), strict=True):
                if isinstance(stored, MalformedZnode):
                    _logger.warning("a configuration stays as it was", entity=entity.entity_path, reason=str(stored))
                else:
                    self._apply(entity, stored.entries)

    def _concerns_us(self, entity: ConfigEntity) -> bool:
        return _topic(entity) is not None or entity in (self._own, self._cluster) or is_quota_entity(entity)

    def _apply(self, entity: ConfigEntity, entries: Entries) -> None:
        (self._present.add if entries else self._present.discard)(entity)
        topic = _topic(entity)
        if topic is not None:
            self._tell(entity, self.live.take_topic(topic, entries))
        elif entity == self._own:
            self._tell(entity, self.live.take_own(entries))
        elif entity == self._cluster:
            self._tell(entity, self.live.take_cluster(entries))
        else:
            self._apply_quotas(owner_of(entity), entries)

    def _apply_quotas(self, owner: QuotaOwner, entries: Entries) -> None:
        if self.quotas.take(owner, entries):
            for react in self._quota_listeners:
                react(owner, self.quotas.of(owner))

    def _tell(self, entity: ConfigEntity, update: ConfigUpdate) -> None:
        for fault in update.faults:
            _logger.warning("an entry is not in force", entity=entity.entity_path, reason=str(fault))
        if update.broker_changed:
            _logger.info("the broker's configuration changed", entity=entity.entity_path)
            for react in self._broker_listeners:
                react(self.live.broker)
        for name, config in update.topics.items():
            for react_to_topic in self._topic_listeners:
                react_to_topic(name, config)


def _topic(entity: ConfigEntity) -> str | None:
    kind, name = entity.parts[0]
    return name if kind == "topics" and len(entity.parts) == 1 else None


@contextmanager
def _refusing() -> Iterator[None]:
    """A client is told, in Kafka's words, that ZooKeeper does not answer or holds nonsense."""
    try:
        yield
    except ZkError as error:
        raise KafkaError(KafkaCode.REQUEST_TIMED_OUT, f"ZooKeeper: {error}") from error
    except MalformedZnode as error:
        raise KafkaError(KafkaCode.UNKNOWN_SERVER_ERROR, str(error)) from error
