"""Settings of a process that serves the Kafka wire: where it listens and what it tells others to connect to."""

from dataclasses import dataclass
from typing import ClassVar

from tidelog.kafka.configs.checks import NOT_EMPTY, Check
from tidelog.kafka.configs.kinds import PAIRS
from tidelog.kafka.configs.listeners import (
    ENDPOINTS,
    duplicates,
    reachable_host,
    reserved_names,
    unknown_protocols,
    unsound_advertised,
)
from tidelog.kafka.configs.setting import HIGH, LOW, Rule, setting
from tidelog.kafka.types import Endpoint

_KNOWN_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_PROTOCOLS = Check(
    lambda pairs: all(protocol.upper() in _KNOWN_PROTOCOLS for _name, protocol in pairs),
    f"NAME:PROTOCOL pairs with protocols of {', '.join(_KNOWN_PROTOCOLS)}",
)


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class KafkaListenerSettings:
    """The listeners of the Kafka wire, by their names."""

    __slots__ = ()

    listeners: tuple[Endpoint, ...] = setting(
        "listeners",
        ENDPOINTS,
        (Endpoint("PLAINTEXT", "", 9092),),
        NOT_EMPTY,
        "Where the Kafka wire is served, as LISTENER://host:port; an empty host is every interface.",
        importance=HIGH,
    )
    advertised_listeners: tuple[Endpoint, ...] | None = setting(
        "advertised.listeners",
        ENDPOINTS,
        None,
        doc="Where clients are told to connect; without it, listeners with this machine's name.",
        importance=HIGH,
    )
    listener_security_protocol_map: tuple[tuple[str, str], ...] = setting(
        "listener.security.protocol.map",
        PAIRS,
        (("PLAINTEXT", "PLAINTEXT"), ("SSL", "SSL"), ("SASL_PLAINTEXT", "SASL_PLAINTEXT"), ("SASL_SSL", "SASL_SSL")),
        _PROTOCOLS,
        "The security protocol of each listener name; a listener in use must have PLAINTEXT.",
        importance=LOW,
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("listeners",), duplicates),
        Rule(("listeners",), reserved_names),
        Rule(("listeners", "listener.security.protocol.map"), unknown_protocols),
        Rule(("advertised.listeners", "listeners"), unsound_advertised),
    )

    @property
    def security_protocols(self) -> dict[str, str]:
        """The security protocol of each listener in use."""
        known = {name.upper(): protocol.upper() for name, protocol in self.listener_security_protocol_map}
        return {each.listener: known[each.listener] for each in self.listeners}

    def advertised_endpoints(self, host_name: str) -> tuple[Endpoint, ...]:
        """What clients are told to connect to, on a machine of this name."""
        return tuple(
            Endpoint(each.listener, reachable_host(each.host, host_name), each.port)
            for each in self.advertised_listeners or self.listeners
        )
