"""SCRAM credentials as Kafka stores them among the entries of a user, and the rules for changing them.

An entry has the mechanism's name as its key, and as its value four fields: the salt, the stored key and the server key
(RFC 5802) in base 64, and the number of iterations. The password itself is never seen: clients salt it themselves.
"""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from tidelog.kafka.errors import KafkaCode, KafkaError

# Below, a password is guessed too easily; above, clients take too long.
_ITERATIONS_MIN, _ITERATIONS_MAX = 4096, 16384


class ScramMechanism(IntEnum):
    """By the numbers of the wire."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def key(self) -> str:
        """Under which a credential is stored."""
        return self.name.replace("_", "-")

    @property
    def digest(self) -> str:
        return f"sha{self.name.rpartition('_')[2]}"


@dataclass(frozen=True, slots=True)
class ScramCredential:
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    @classmethod
    def of(cls, mechanism: ScramMechanism, salt: bytes, salted_password: bytes, iterations: int) -> "ScramCredential":
        client_key = hmac.digest(salted_password, b"Client Key", mechanism.digest)
        stored_key = hashlib.new(mechanism.digest, client_key).digest()
        return cls(salt, stored_key, hmac.digest(salted_password, b"Server Key", mechanism.digest), iterations)

    @classmethod
    def parse(cls, text: str) -> "ScramCredential":
        """Raises ValueError."""
        fields = dict(field.split("=", 1) for field in text.split(","))
        try:
            keys = [b64decode(fields[name], validate=True) for name in ("salt", "stored_key", "server_key")]
            return cls(keys[0], keys[1], keys[2], int(fields["iterations"]))
        except KeyError as missing:
            raise ValueError(f"a credential without {missing}") from None

    def __str__(self) -> str:
        salt, stored, server = (b64encode(one).decode() for one in (self.salt, self.stored_key, self.server_key))
        return f"salt={salt},stored_key={stored},server_key={server},iterations={self.iterations}"


@dataclass(frozen=True, slots=True)
class ScramChange:
    """One credential of a user is to be set, or removed where there is none given."""

    user: str
    mechanism: int
    salt: bytes = b""
    salted_password: bytes = b""
    iterations: int | None = None


def scram_iterations(entries: Mapping[str, str]) -> dict[ScramMechanism, int]:
    """The credentials among a user's entries, with their iterations; what cannot be read is none."""
    found = {}
    for mechanism in ScramMechanism:
        try:
            found[mechanism] = ScramCredential.parse(entries[mechanism.key]).iterations
        except (KeyError, ValueError):
            continue
    return found


def check_scram_changes(changes: Sequence[ScramChange]) -> None:
    """All changes of one user in one request. UNACCEPTABLE_CREDENTIAL, UNSUPPORTED_SASL_MECHANISM, DUPLICATE_RESOURCE."""
    for change in changes:
        if not change.user:
            raise KafkaError(KafkaCode.UNACCEPTABLE_CREDENTIAL, "A credential belongs to a user with a name.")
        if change.mechanism not in list(ScramMechanism):
            raise KafkaError(KafkaCode.UNSUPPORTED_SASL_MECHANISM, f"There is no SCRAM mechanism {change.mechanism}.")
        if change.iterations is not None and not _ITERATIONS_MIN <= change.iterations <= _ITERATIONS_MAX:
            allowed = f"{_ITERATIONS_MIN} to {_ITERATIONS_MAX} are allowed"
            raise KafkaError(KafkaCode.UNACCEPTABLE_CREDENTIAL, f"{change.iterations} iterations; {allowed}.")
    if len({change.mechanism for change in changes}) < len(changes):
        raise KafkaError(KafkaCode.DUPLICATE_RESOURCE, "A credential is changed once in a request.")


def altered_credentials(changes: Sequence[ScramChange], stored: Mapping[str, str]) -> dict[str, str]:
    """A user's entries after changes that were checked. RESOURCE_NOT_FOUND if one to be removed is not there."""
    entries = dict(stored)
    for change in changes:
        mechanism = ScramMechanism(change.mechanism)
        if change.iterations is not None:
            credential = ScramCredential.of(mechanism, change.salt, change.salted_password, change.iterations)
            entries[mechanism.key] = str(credential)
        elif entries.pop(mechanism.key, None) is None:
            raise KafkaError(KafkaCode.RESOURCE_NOT_FOUND, "There is no such credential that could be removed.")
    return entries
