"""The small values that everything speaks of: ids, topic names, partitions, endpoints."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from dataclasses import dataclass
from typing import NewType, Self
from uuid import UUID

from tidelog.kafka.errors import KafkaCode, KafkaError

BrokerId = NewType("BrokerId", int)
ControllerId = NewType("ControllerId", int)
CoordinatorId = NewType("CoordinatorId", int)
PartitionIndex = NewType("PartitionIndex", int)
LeaderEpoch = NewType("LeaderEpoch", int)
ControllerEpoch = NewType("ControllerEpoch", int)
BrokerEpoch = NewType("BrokerEpoch", int)
PartitionEpoch = NewType("PartitionEpoch", int)
Offset = NewType("Offset", int)
ProducerId = NewType("ProducerId", int)
ProducerEpoch = NewType("ProducerEpoch", int)

TopicName = NewType("TopicName", str)

GRPC_LISTENER = "GRPC"  # the control plane's endpoint in a registration; never told to Kafka clients
TopicId = UUID

# A partition's folder is "<topic>-<partition>" and file names end at 255 bytes, which leaves 249 for the topic.
TOPIC_NAME_MAX_LENGTH = 249
_LEGAL_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_ENDPOINT = re.compile(
    r"(?P<listener>[A-Za-z0-9_.-]+)://(?:\[(?P<ipv6>[0-9a-fA-F:.%]+)\]|(?P<host>[^\[\]:/\s]*)):(?P<port>\d{1,5})"
)


@dataclass(frozen=True, slots=True, order=True)
class TopicPartition:
    """One partition of one topic; its text is also the name of its folder on disk."""

    topic: TopicName
    partition: PartitionIndex

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """Where a listener is bound or reached. An empty host stands for every interface, where a listener may be bound."""

    listener: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "LISTENER://host:port"; names are upper-cased, as in Kafka, and a bracketed host is an IPv6 address."""
        match = _ENDPOINT.fullmatch(text.strip())
        if match is None or int(match["port"]) > 65535:
            raise ValueError(f"{text!r} is not of the form LISTENER://host:port")
        return cls(match["listener"].upper(), match["ipv6"] or match["host"] or "", int(match["port"]))

    def __str__(self) -> str:
        return f"{self.listener}://{self.address}"

    @property
    def address(self) -> str:
        """The "host:port" that a connection is opened to."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def check_topic_name(name: str) -> None:
    """Raise INVALID_TOPIC_EXCEPTION unless Kafka allows a topic of this name."""
    reason = _fault_of_topic_name(name)
    if reason:
        raise KafkaError(KafkaCode.INVALID_TOPIC_EXCEPTION, f"Topic name is illegal: {reason}.")


def _fault_of_topic_name(name: str) -> str:
    if not name:
        return "it must not be empty"
    if name in (".", ".."):
        return f"it cannot be {name!r}"
    if len(name) > TOPIC_NAME_MAX_LENGTH:
        return f"it has {len(name)} characters and at most {TOPIC_NAME_MAX_LENGTH} are allowed"
    if _LEGAL_TOPIC_NAME.fullmatch(name) is None:
        return f"{name!r} contains a character other than ASCII letters, digits, '.', '_' and '-'"
    return ""


def topic_id_text(topic_id: TopicId) -> str:
    """A topic id as Kafka prints it: 22 characters of base64 in the alphabet for addresses, without padding."""
    return urlsafe_b64encode(topic_id.bytes).rstrip(b"=").decode("ascii")


def parse_topic_id(text: str) -> TopicId:
    """Read what topic_id_text writes; raises ValueError otherwise."""
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"==")
    except (Base64Error, UnicodeEncodeError) as error:
        raise ValueError(f"{text!r} is not a topic id") from error
    topic_id = UUID(bytes=raw) if len(raw) == 16 else None
    # The decoder skips foreign characters and drops the last bits, so a text is only right if it comes back unchanged.
    if topic_id is None or topic_id_text(topic_id) != text:
        raise ValueError(f"{text!r} is not a topic id")
    return topic_id


def java_hash(text: str) -> int:
    """Java's String.hashCode: over UTF-16 units, as a signed 32-bit number. Kafka places groups by it."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8) + units[at + 1]) & 0xFFFFFFFF
    return value - 0x100000000 if value >= 0x80000000 else value
