"""Client quotas as they are configured: for whom, how much, and which of them a question is about.

A quota belongs to a user, to a client id, to both together, or to an address; instead of a name each may be the default
of its kind. Names of kinds and of quotas are those of the wire and of ZooKeeper.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from ipaddress import ip_address

from tidelog.broker.core.quota_limits import CLIENT_KEYS, DEFAULT, IP_KEYS, Name, QuotaEntity, parse_quota, quota_text
from tidelog.kafka.errors import KafkaCode, KafkaError

USER, CLIENT_ID, IP = "user", "client-id", "ip"

_LARGEST = {**dict.fromkeys(CLIENT_KEYS, (1 << 63) - 1), **dict.fromkeys(IP_KEYS, (1 << 31) - 1)}


@dataclass(frozen=True, slots=True)
class QuotaOwner:
    """Whom a quota is for: (kind, name) pairs, user before client id, where name None is the default of the kind."""

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, parts: Iterable[tuple[str, str | None]]) -> "QuotaOwner":
        """Put in order and checked; raises INVALID_REQUEST."""
        listed = list(parts)
        named = dict(listed)
        for kind, name in listed:
            if kind not in (USER, CLIENT_ID, IP):
                raise _refusal(f"there are no quotas for {kind!r}")
            if name == "":
                raise _refusal(f"the name of a {kind} must not be empty; the default is asked for by null")
        if len(named) != len(listed):
            raise _refusal("an entity has each kind once")
        if not named or (IP in named and len(named) > 1):
            raise _refusal("an entity is a user, a client id, both, or an address by itself")
        _check_address(named.get(IP))
        return cls(tuple((kind, named[kind]) for kind in (USER, CLIENT_ID, IP) if kind in named))

    @property
    def entity(self) -> QuotaEntity | None:
        """Whose requests the quota bounds; None for an address, whose connections it bounds."""
        named: dict[str, Name] = {kind: DEFAULT if name is None else name for kind, name in self.parts}
        return None if IP in named else QuotaEntity(named.get(USER), named.get(CLIENT_ID))

    @property
    def keys(self) -> tuple[str, ...]:
        """The quotas that there are for it."""
        return IP_KEYS if self.parts[0][0] == IP else CLIENT_KEYS


@dataclass(frozen=True, slots=True)
class QuotaChange:
    """One quota is to be set, or removed where the value is None."""

    key: str
    value: float | None


def altered_quotas(owner: QuotaOwner, stored: Mapping[str, str], changes: Sequence[QuotaChange]) -> dict[str, str]:
    """The stored entries after the changes; a user's credentials, which are stored beside, stay. Raises INVALID_REQUEST."""
    entries = dict(stored)
    for change in changes:
        if change.value is None:
            entries.pop(change.key, None)
        else:
            entries[change.key] = _text(owner, change.key, change.value)
    return entries


def quota_values(owner: QuotaOwner, entries: Mapping[str, str]) -> dict[str, float]:
    """The quotas among the stored entries; what is not a number is no quota."""
    values: dict[str, float] = {}
    for key in owner.keys:
        try:
            values[key] = parse_quota(entries[key])
        except (KeyError, ValueError):
            continue
    return values


class MatchType(IntEnum):
    """How a component of a question picks names, by the numbers of DescribeClientQuotas."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    """Which quotas are asked for: for each kind how names must match; strict leaves out entities of further kinds."""

    components: Mapping[str, tuple[MatchType, str | None]]
    strict: bool

    @classmethod
    def of(cls, components: Iterable[tuple[str, int, str | None]], *, strict: bool) -> "QuotaFilter":
        """Raises INVALID_REQUEST, or UNSUPPORTED_VERSION for a kind that a newer Kafka may have."""
        checked: dict[str, tuple[MatchType, str | None]] = {}
        for kind, match_type, name in components:
            _check_component(kind, match_type, name)
            if kind in checked:
                raise _refusal(f"asks for {kind} twice")
            checked[kind] = (MatchType(match_type), name if match_type == MatchType.EXACT else None)
        if IP in checked and len(checked) > 1:
            raise _refusal("an address has no quotas together with a user or a client id")
        return cls(checked, strict)

    def matches(self, owner: QuotaOwner) -> bool:
        named = dict(owner.parts)
        if self.strict and named.keys() - self.components.keys():
            return False
        return all(kind in named and _fits(named[kind], *wanted) for kind, wanted in self.components.items())


@dataclass(slots=True)
class QuotaTable:
    """All quotas of the cluster as this broker knows them."""

    _quotas: dict[QuotaOwner, dict[str, float]] = field(default_factory=dict)

    def take(self, owner: QuotaOwner, entries: Mapping[str, str]) -> bool:
        """The owner's stored entries are these from now on; tells whether its quotas have changed."""
        values, before = quota_values(owner, entries), self.of(owner)
        if values:
            self._quotas[owner] = values
        else:
            self._quotas.pop(owner, None)
        return values != before

    def of(self, owner: QuotaOwner) -> Mapping[str, float]:
        return self._quotas.get(owner, {})

    def matching(self, wanted: QuotaFilter) -> list[tuple[QuotaOwner, Mapping[str, float]]]:
        return [(owner, values) for owner, values in self._quotas.items() if wanted.matches(owner)]


def _text(owner: QuotaOwner, key: str, value: float) -> str:
    if key not in owner.keys:
        raise _refusal(f"there is no quota {key!r} here, but there are {', '.join(owner.keys)}")
    # No connections at all may be wanted of an address; a rate of 0 bytes would hold a client up forever.
    if math.isnan(value) or value < 0 or (value == 0 and key in CLIENT_KEYS):
        raise _refusal(f"{key}={value} is not above 0")
    if value > _LARGEST[key]:
        raise _refusal(f"{key}={value} is above {_LARGEST[key]}")
    return quota_text(key, value)


def _check_address(address: str | None) -> None:
    try:
        if address is not None:
            ip_address(address)
    except ValueError:
        raise _refusal(f"{address!r} is not an IP address") from None


def _check_component(kind: str, match_type: int, name: str | None) -> None:
    if not kind:
        raise _refusal("asks for quotas of no kind")
    if kind not in (USER, CLIENT_ID, IP):
        raise KafkaError(KafkaCode.UNSUPPORTED_VERSION, f"there are no quotas for {kind!r}")
    if match_type not in list(MatchType):
        raise _refusal(f"there is no match type {match_type}")
    if match_type == MatchType.EXACT and name is None:
        raise _refusal(f"asks for a {kind} by name, and has none")


def _fits(name: str | None, match_type: MatchType, wanted: str | None) -> bool:
    return match_type is MatchType.ANY or name == wanted


def _refusal(message: str) -> KafkaError:
    return KafkaError(KafkaCode.INVALID_REQUEST, message)
