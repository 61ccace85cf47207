"""Which quota holds for whom: entities and their precedence, and how values are written down.

A quota belongs to a user, a client id, both, or a default of either. For a connection exactly one applies to each
kind, the most specific that exists. Whoever it was set for shares it: a user's quota is shared by all of the user's
clients, a client id's by all users of that client id, and where both are named each pair has its own.
"""

from typing import TYPE_CHECKING, NamedTuple

from tidelog.kafka.errors import KafkaCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Mapping

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"

CLIENT_KEYS = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE)
IP_KEYS = (CONNECTION_CREATION_RATE,)
_WHOLE_NUMBERS = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, CONNECTION_CREATION_RATE)
_WHOLE_WITHIN = 1e-6


class Default:
    """The type of DEFAULT, which stands for every name that has no quota of its own."""

    def __repr__(self) -> str:
        return "<default>"


DEFAULT = Default()
Name = str | Default | None


class QuotaEntity(NamedTuple):
    """Whom a quota was set for; None where users, or client ids, are not told apart."""

    user: Name
    client_id: Name


class Applied(NamedTuple):
    """The quota that holds for a connection, and who shares it (None: any)."""

    bound: float
    user: str | None
    client_id: str | None


class QuotaLimits:
    """All quotas of users and client ids."""

    def __init__(self) -> None:
        self._bounds: dict[str, dict[QuotaEntity, float]] = {key: {} for key in CLIENT_KEYS}

    def set(self, entity: QuotaEntity, values: "Mapping[str, float]") -> None:
        """These are the quotas of an entity now; those that are not mentioned are gone."""
        for key, bounds in self._bounds.items():
            if key in values:
                bounds[entity] = values[key]
            else:
                bounds.pop(entity, None)

    def has_any(self, key: str) -> bool:
        """Whether anybody at all has a quota of this kind."""
        return bool(self._bounds[key])

    def applied(self, key: str, user: str, client_id: str) -> Applied | None:
        """The most specific quota of a kind, or None."""
        bounds = self._bounds[key]
        if not bounds:
            return None
        for entity in _most_specific_first(user, client_id):
            bound = bounds.get(entity)
            if bound is not None:
                shared_user = None if entity.user is None else user
                return Applied(bound, shared_user, None if entity.client_id is None else client_id)
        return None


def _most_specific_first(user: str, client_id: str) -> tuple[QuotaEntity, ...]:
    return (
        QuotaEntity(user, client_id),
        QuotaEntity(user, DEFAULT),
        QuotaEntity(user, None),
        QuotaEntity(DEFAULT, client_id),
        QuotaEntity(DEFAULT, DEFAULT),
        QuotaEntity(DEFAULT, None),
        QuotaEntity(None, client_id),
        QuotaEntity(None, DEFAULT),
    )


def quota_text(key: str, value: float) -> str:
    """A quota as ZooKeeper holds it: "1000" for byte and connection rates, "50.0" for the others.

    INVALID_REQUEST for an unknown key, or for a fraction where a whole number is meant.
    """
    if key not in CLIENT_KEYS and key not in IP_KEYS:
        raise KafkaError(KafkaCode.INVALID_REQUEST, f"Invalid configuration key {key}")
    if key not in _WHOLE_NUMBERS:
        return java_double_text(value)
    whole = int(value + _WHOLE_WITHIN)
    if abs(whole - value) > _WHOLE_WITHIN:
        raise KafkaError(KafkaCode.INVALID_REQUEST, f"Configuration {key} must be a Long value")
    return str(whole)


def parse_quota(text: str) -> float:
    """Read what quota_text writes; ValueError otherwise."""
    return float(text)


def java_double_text(value: float) -> str:
    """A finite double as Java prints it: always with a point, and as 1.0E7 from ten millions on and below 0.001."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(float(value))
    # The fewest digits that give the value back, but one after the point.
    texts = (format(float(value), f".{precision}e") for precision in range(1, 17))
    digits, _, exponent = next(text for text in texts if float(text) == value).partition("e")
    return f"{digits}E{int(exponent)}"
