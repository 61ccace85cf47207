"""Dynamic configuration: /config/<type>/<name> and the notifications of its changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, unquote

from tidelog.zk.znodes.encoding import Fields, MalformedZnode, encode_json

CONFIG_CHANGES = "/config/changes"
CONFIG_CHANGE_PREFIX = "config_change_"

DEFAULT_ENTITY = "<default>"
# Names of these may hold any character; a topic's, a broker's and an address are legal as they are.
_SANITISED_TYPES = ("users", "clients")


@dataclass(frozen=True, slots=True)
class ConfigEntity:
    """What a configuration belongs to: one or two (type, name) pairs, where name None is the default of the type."""

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def topic(cls, name: str) -> Self:
        return cls((("topics", name),))

    @classmethod
    def broker(cls, broker_id: int | None) -> Self:
        return cls((("brokers", None if broker_id is None else str(broker_id)),))

    @classmethod
    def parse(cls, entity_path: str) -> Self:
        """Read "topics/T", "users/U/clients/C" and the like."""
        words = entity_path.split("/")
        if len(words) % 2 or not all(words):
            raise MalformedZnode(f"{entity_path!r} does not name a configuration")
        pairs = zip(words[::2], words[1::2], strict=True)
        return cls(tuple((kind, None if name == DEFAULT_ENTITY else _original(kind, name)) for kind, name in pairs))

    @property
    def entity_path(self) -> str:
        """The path below /config, as change notifications carry it."""
        return "/".join(f"{kind}/{DEFAULT_ENTITY if name is None else _sane(kind, name)}" for kind, name in self.parts)


def sanitise(name: str) -> str:
    """A name as one path segment: all but ASCII letters, digits and "_.-~" percent-encoded, as Kafka does."""
    return quote(name, safe="")


def _sane(kind: str, name: str) -> str:
    return sanitise(name) if kind in _SANITISED_TYPES else name


def _original(kind: str, name: str) -> str:
    return unquote(name) if kind in _SANITISED_TYPES else name


class ConfigZnode:
    """/config/topics/T, /config/brokers/{N,<default>}, /config/users/U/clients/C and so on.

    v1 {"version":1,"config":{"retention.ms":"1000"}}
    """

    @staticmethod
    def path(entity: ConfigEntity) -> str:
        return f"/config/{entity.entity_path}"

    @staticmethod
    def parent(entity_type: str) -> str:
        """The node whose children are the entities of a type."""
        return f"/config/{entity_type}"

    @staticmethod
    def encode(config: Mapping[str, str]) -> bytes:
        return encode_json({"version": 1, "config": dict(config)})

    @staticmethod
    def decode(data: bytes) -> dict[str, str]:
        """A node without data, such as the parent of a user's clients, has no configuration."""
        if not data:
            return {}
        config = Fields.parse(data, "config").object("config")
        return {name: config.text(name) for name in config.names()}


class ConfigChangeZnode:
    """/config/changes/config_change_S, persistent and sequential.

    v1 {"version":1,"entity_type":"topics","entity_name":"T"}
    v2 {"version":2,"entity_path":"users/U/clients/C"}
    """

    CREATE_PATH = f"{CONFIG_CHANGES}/{CONFIG_CHANGE_PREFIX}"

    @staticmethod
    def encode(entity: ConfigEntity) -> bytes:
        return encode_json({"version": 2, "entity_path": entity.entity_path})

    @staticmethod
    def decode(data: bytes) -> ConfigEntity:
        fields = Fields.parse(data, "config change")
        if fields.integer("version") == 1:
            return ConfigEntity.parse(f"{fields.text('entity_type')}/{fields.text('entity_name')}")
        return ConfigEntity.parse(fields.text("entity_path"))
