"""Settings as DescribeConfigs tells them: the value in force, where it comes from, and what it would be otherwise.

The sources of a broker's setting, the strongest first: its own entries, the entries for all brokers, its static
configuration, the default. A topic's setting has the topic's own entry before them. Some settings have synonyms, finer
and coarser units of the same time; of these too the whole list is told. A static value that is the default counts as
the default.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidelog.broker.core.live_config import BROKER_SETTINGS, TOPIC_SETTINGS, LiveConfig, Texts, is_changeable
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.kinds import PASSWORD, STRING
from tidelog.kafka.configs.setting import READ_ONLY, ConfigSource, Setting

# Kafka's secrets. Tidelog has no use for them, but tools look for them to see that they are never shown.
_UNUSED_SECRETS = ("sasl.jaas.config", "ssl.key.password", "ssl.keystore.password", "ssl.truststore.password")
_UNUSED_DOC = "A secret of Kafka's security settings, which are not supported; never shown."
_UNKNOWN_TYPE = 0

# The settings that stand for the same time in several units, the finest first.
_UNITS = tuple(each.synonyms for each in TOPIC_SETTINGS.values() if len(each.synonyms) > 1)


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """One of the places that a value could come from, and the value there."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One setting; a sensitive one has no value here, whatever it is."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    type_code: int
    doc: str
    synonyms: tuple[ConfigSynonym, ...] = ()


Layers = tuple[tuple[ConfigSource, Texts], ...]


def broker_entries(live: LiveConfig) -> list[ConfigEntry]:
    """Every setting of the broker."""
    layers = _layers(live)
    foreign = (
        *(_foreign(name, ConfigSource.DYNAMIC_BROKER) for name in _unknown(live.own)),
        *(_foreign(name, ConfigSource.DYNAMIC_DEFAULT_BROKER) for name in _unknown(live.cluster)),
    )
    known = (_broker_entry(each, live.broker, layers) for each in BROKER_SETTINGS.values())
    return _by_name([*map(_secret, _UNUSED_SECRETS), *foreign, *known])


def cluster_entries(live: LiveConfig) -> list[ConfigEntry]:
    """The entries that hold for all brokers, and nothing else."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER
    overlaid = live.broker_with(own={})
    layers: Layers = ((source, {name: live.cluster[name] for name in overlaid.taken}),)
    known = (_broker_entry(BROKER_SETTINGS[name], overlaid.config, layers) for name in overlaid.taken)
    return _by_name([*(_foreign(name, source) for name in _unknown(live.cluster)), *known])


def topic_entries(live: LiveConfig, entries: Texts) -> list[ConfigEntry]:
    """Every setting of a topic that has these entries."""
    layers, overlaid = _layers(live), live.topic_with(entries)
    found = []
    for name, declared in TOPIC_SETTINGS.items():
        value = declared.text(getattr(overlaid.config, declared.attribute))
        own = [ConfigSynonym(name, value, ConfigSource.DYNAMIC_TOPIC)] if name in overlaid.taken else []
        found.append(_entry(declared, value, (*own, *_synonyms(declared.synonyms, layers)), read_only=False))
    return _by_name(found)


def logger_entries(levels: Mapping[str, str]) -> list[ConfigEntry]:
    """The levels of the broker's loggers."""
    source = ConfigSource.DYNAMIC_BROKER_LOGGER
    return _by_name(
        ConfigEntry(name, level, source, read_only=False, sensitive=False, type_code=STRING.code, doc="")
        for name, level in levels.items()
    )


def _layers(live: LiveConfig) -> Layers:
    static = {name: text for name, text in _texts(live.static) if text != _default_text(BROKER_SETTINGS[name])}
    defaults = {name: _default_text(each) for name, each in BROKER_SETTINGS.items()}
    cluster = (name for name in live.cluster if name in live.taken and is_changeable(name, for_all=True))
    return (
        (ConfigSource.DYNAMIC_BROKER, {name: text for name, text in live.own.items() if name in live.taken}),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER, {name: live.cluster[name] for name in cluster}),
        (ConfigSource.STATIC_BROKER, static),
        (ConfigSource.DEFAULT, {name: text for name, text in defaults.items() if text is not None}),
    )


def _texts(config: BrokerConfig) -> Iterator[tuple[str, str]]:
    for name, declared in BROKER_SETTINGS.items():
        text = declared.text(getattr(config, declared.attribute))
        if text is not None:
            yield name, text


def _default_text(declared: Setting) -> str | None:
    return None if declared.is_required else declared.text(declared.default)


def _broker_entry(declared: Setting, config: BrokerConfig, layers: Layers) -> ConfigEntry:
    names = next((units for units in _UNITS if declared.name in units), (declared.name,))
    synonyms = _synonyms(names, layers)
    # A finer unit wins over this one, but it is not what this one's value comes from.
    first = next((at for at, each in enumerate(synonyms) if each.name == declared.name), len(synonyms))
    value = declared.text(getattr(config, declared.attribute))
    return _entry(declared, value, synonyms[first:], read_only=declared.update_mode is READ_ONLY)


def _synonyms(names: Iterable[str], layers: Layers) -> tuple[ConfigSynonym, ...]:
    present = ((name, texts.get(name), source) for source, texts in layers for name in names)
    return tuple(ConfigSynonym(name, text, source) for name, text, source in present if text is not None)


def _entry(
    declared: Setting, value: str | None, synonyms: tuple[ConfigSynonym, ...], *, read_only: bool
) -> ConfigEntry:
    return ConfigEntry(
        declared.name,
        None if declared.is_sensitive else value,
        synonyms[0].source if synonyms else ConfigSource.DEFAULT,
        read_only,
        declared.is_sensitive,
        declared.kind.code,
        declared.doc,
        synonyms,
    )


def _secret(name: str) -> ConfigEntry:
    return _hidden(name, ConfigSource.DEFAULT, PASSWORD.code, _UNUSED_DOC)


def _unknown(texts: Texts) -> list[str]:
    return [name for name in texts if name not in BROKER_SETTINGS and name not in _UNUSED_SECRETS]


def _foreign(name: str, source: ConfigSource) -> ConfigEntry:
    """An entry that another program left; nobody knows whether it is a secret."""
    return _hidden(name, source, _UNKNOWN_TYPE, "")


def _hidden(name: str, source: ConfigSource, type_code: int, doc: str) -> ConfigEntry:
    return ConfigEntry(name, None, source, read_only=True, sensitive=True, type_code=type_code, doc=doc)


def _by_name(entries: Iterable[ConfigEntry]) -> list[ConfigEntry]:
    """In the order of the names; of two with the same name the first."""
    distinct: dict[str, ConfigEntry] = {}
    for entry in entries:
        distinct.setdefault(entry.name, entry)
    return [distinct[name] for name in sorted(distinct)]
