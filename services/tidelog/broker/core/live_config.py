"""The configuration in force: what the broker was started with, and what was changed since, live.

Three layers make a broker's configuration: its static one, the entries for all brokers (/config/brokers/<default>) over
it, and its own entries (/config/brokers/N) over both. A topic has the broker's settings, and its own entries over them.
Entries are kept as the texts that are stored. Who wrote them may have been another program or another version, so an
entry that is unknown, not changeable or not sound is left out of what is in force, and the rest holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.faults import ConfigFaults, Fault
from tidelog.kafka.configs.reading import broken_rules
from tidelog.kafka.configs.setting import CLUSTER_WIDE, READ_ONLY, settings_of
from tidelog.kafka.configs.topic import TopicConfig, topic_config

C = TypeVar("C", BrokerConfig, TopicConfig)
Texts = Mapping[str, str]

BROKER_SETTINGS = settings_of(BrokerConfig)
TOPIC_SETTINGS = settings_of(TopicConfig)
_SETTINGS: Mapping[type, Mapping[str, Any]] = {BrokerConfig: BROKER_SETTINGS, TopicConfig: TOPIC_SETTINGS}


@dataclass(frozen=True, slots=True)
class Overlaid(Generic[C]):
    """A configuration with entries over it: those that were taken, and why others were not."""

    config: C
    taken: frozenset[str]
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class ConfigUpdate:
    """What an update of the entries came to: entries that are not in force, and what has changed."""

    faults: tuple[Fault, ...]
    broker_changed: bool
    topics: Mapping[str, TopicConfig]


class LiveConfig:
    """The configuration of one broker and of the topics it works with."""

    def __init__(self, static: BrokerConfig) -> None:
        self.static = static
        self.own: Texts = {}
        self.cluster: Texts = {}
        self._broker = self._overlaid({}, {})
        self._topic_base = topic_config(static, {})
        self._topic_texts: dict[str, Texts] = {}
        # The topics that somebody has asked for, so those whose changes matter to somebody.
        self._topics: dict[str, TopicConfig] = {}

    @property
    def broker(self) -> BrokerConfig:
        """The broker's configuration as it is now; frozen, so ask again rather than keep it."""
        return self._broker.config

    @property
    def taken(self) -> frozenset[str]:
        """The names of the broker's entries that are in force."""
        return self._broker.taken

    def topic(self, name: str) -> TopicConfig:
        """A topic's configuration as it is now."""
        known = self._topics.get(name)
        if known is None:
            known = self._topics[name] = self.topic_with(self._topic_texts.get(name, {})).config
        return known

    def topic_with(self, entries: Texts) -> Overlaid[TopicConfig]:
        """The configuration of a topic that has these entries."""
        return _overlay(self._topic_base, entries)

    def broker_with(self, *, own: Texts | None = None, cluster: Texts | None = None) -> Overlaid[BrokerConfig]:
        """The configuration that these entries would make, where they are given, and the present ones otherwise."""
        return self._overlaid(self.own if own is None else own, self.cluster if cluster is None else cluster)

    def take_own(self, entries: Texts) -> ConfigUpdate:
        """The broker's own entries are these from now on."""
        self.own = dict(entries)
        return self._renewed()

    def take_cluster(self, entries: Texts) -> ConfigUpdate:
        """The entries for all brokers are these from now on."""
        self.cluster = dict(entries)
        return self._renewed()

    def take_topic(self, name: str, entries: Texts) -> ConfigUpdate:
        """A topic's entries are these from now on."""
        if entries:
            self._topic_texts[name] = dict(entries)
        else:
            self._topic_texts.pop(name, None)
        overlaid = self.topic_with(entries)
        before = self._topics.get(name)
        changed = before is not None and before != overlaid.config
        if changed:
            self._topics[name] = overlaid.config
        return ConfigUpdate(overlaid.faults, broker_changed=False, topics={name: overlaid.config} if changed else {})

    def forget_topic(self, name: str) -> None:
        """A topic is gone; one that comes under its name starts afresh."""
        self._topic_texts.pop(name, None)
        self._topics.pop(name, None)

    def _renewed(self) -> ConfigUpdate:
        before = self.broker
        self._broker = self._overlaid(self.own, self.cluster)
        if self.broker == before:
            return ConfigUpdate(self._broker.faults, broker_changed=False, topics={})
        self._topic_base = topic_config(self.broker, {})
        old = self._topics
        self._topics = {name: self.topic_with(self._topic_texts.get(name, {})).config for name in old}
        changed = {name: config for name, config in self._topics.items() if config != old[name]}
        return ConfigUpdate(self._broker.faults, broker_changed=True, topics=changed)

    def _overlaid(self, own: Texts, cluster: Texts) -> Overlaid[BrokerConfig]:
        entries = {name: text for name, text in cluster.items() if is_changeable(name, for_all=True)}
        entries |= {name: text for name, text in own.items() if is_changeable(name, for_all=False)}
        return _overlay(self.static, entries)


def is_changeable(name: str, *, for_all: bool) -> bool:
    """Whether a running broker takes a new value for this setting, given for itself or for all brokers at once."""
    declared = BROKER_SETTINGS.get(name)
    if declared is None:
        return False
    return declared.update_mode is CLUSTER_WIDE if for_all else declared.update_mode is not READ_ONLY


def _overlay(config: C, entries: Texts) -> Overlaid[C]:
    if not entries:
        return Overlaid(config, frozenset(), ())
    values, faults = _read(config, entries)
    if not any(_broken(_replaced(config, values))):
        return Overlaid(_replaced(config, values), frozenset(values), tuple(faults))
    # Each value is sound, but not all of them together: as many as go together are taken, in their order.
    taken: dict[str, Any] = {}
    for name, value in values.items():
        broken = _broken(_replaced(config, {**taken, name: value}))
        if broken:
            faults += broken
        else:
            taken[name] = value
    return Overlaid(_replaced(config, taken), frozenset(taken), tuple(faults))


def _read(config: C, entries: Texts) -> tuple[dict[str, Any], list[Fault]]:
    declared = _SETTINGS[type(config)]
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, text in entries.items():
        try:
            if name in declared:
                values[name] = declared[name].read(text)
        except ConfigFaults as found:
            faults += found.faults
    return values, faults


def _replaced(config: C, values: Mapping[str, Any]) -> C:
    return replace(config, **{name.replace(".", "_"): value for name, value in values.items()})


def _broken(config: C) -> list[Fault]:
    values = {name: getattr(config, each.attribute) for name, each in _SETTINGS[type(config)].items()}
    return list(broken_rules(type(config), values))
