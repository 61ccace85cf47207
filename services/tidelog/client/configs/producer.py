"""Settings of a producer."""

from dataclasses import dataclass

from tidelog.client.configs.client import ClientConfig
from tidelog.kafka.configs.checks import NOT_EMPTY, at_least, between, one_of
from tidelog.kafka.configs.kinds import BOOLEAN, INT, LONG, STRING, Kind
from tidelog.kafka.configs.setting import HIGH, Rule, setting

_INT_MAX = 2**31 - 1
# Brokers remember the last five batches of a producer, so more than five in flight could not be told from gaps.
_IN_FLIGHT_OF_IDEMPOTENCE = 5


def _parse_acks(text: str) -> int:
    if text in ("all", "-1"):
        return -1
    if text in ("0", "1"):
        return int(text)
    raise ValueError("all, -1, 0 or 1")


_ACKS: Kind[int] = Kind("string", 2, _parse_acks, lambda acks: "all" if acks == -1 else str(acks))


def _idempotence_fault(idempotent: bool, acks: int, retries: int, in_flight: int) -> str:
    if not idempotent:
        return ""
    if acks != -1:
        return "needs acks=all: set acks=all or enable.idempotence=false"
    if retries == 0:
        return "needs retries above 0"
    if in_flight > _IN_FLIGHT_OF_IDEMPOTENCE:
        return f"needs max.in.flight.requests.per.connection of at most {_IN_FLIGHT_OF_IDEMPOTENCE}"
    return ""


def _transaction_fault(transactional_id: str | None, idempotent: bool) -> str:
    return "needs enable.idempotence=true" if transactional_id is not None and not idempotent else ""


def _delivery_fault(delivery_ms: int, linger_ms: int, request_ms: int) -> str:
    least = min(linger_ms + request_ms, _INT_MAX)
    return "" if delivery_ms >= least else f"must be at least linger.ms + request.timeout.ms, which is {least}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConfig(ClientConfig):
    """How records are gathered, sent, repeated and acknowledged."""

    acks: int = setting("acks", _ACKS, -1, doc="Who must have a record: nobody (0), its leader (1), all in sync (all).")
    batch_size: int = setting("batch.size", INT, 16_384, at_least(0), "Bytes of a batch of records of one partition.")
    linger_ms: int = setting("linger.ms", LONG, 0, at_least(0), "How long a batch may wait for more records.")
    buffer_memory: int = setting(
        "buffer.memory", LONG, 33_554_432, at_least(1), "Bytes of records that may wait to be sent.", importance=HIGH
    )
    max_block_ms: int = setting(
        "max.block.ms", LONG, 60_000, at_least(0), "How long a send may wait for room and for metadata."
    )
    max_request_size: int = setting("max.request.size", INT, 1_048_576, at_least(0), "Bytes of a request at most.")
    compression_type: str = setting(
        "compression.type",
        STRING,
        "none",
        one_of("none", "gzip", "snappy", "lz4", "zstd"),
        "How batches are compressed.",
        importance=HIGH,
    )
    retries: int = setting(
        "retries", INT, _INT_MAX, between(0, _INT_MAX), "How often a batch is sent again before it has failed."
    )
    delivery_timeout_ms: int = setting(
        "delivery.timeout.ms", INT, 120_000, at_least(0), "After this long a record is delivered or has failed."
    )
    max_in_flight_requests_per_connection: int = setting(
        "max.in.flight.requests.per.connection", INT, 5, at_least(1), "Unanswered requests a broker may have."
    )
    enable_idempotence: bool = setting(
        "enable.idempotence", BOOLEAN, default=True, doc="Whether a repeated batch is written once and in its place."
    )
    transactional_id: str | None = setting(
        "transactional.id", STRING, None, NOT_EMPTY, "The name that makes a producer transactional."
    )
    transaction_timeout_ms: int = setting(
        "transaction.timeout.ms", INT, 60_000, at_least(1), "After this long the coordinator aborts a transaction."
    )

    rules = (
        Rule(("enable.idempotence", "acks", "retries", "max.in.flight.requests.per.connection"), _idempotence_fault),
        Rule(("transactional.id", "enable.idempotence"), _transaction_fault),
        Rule(("delivery.timeout.ms", "linger.ms", "request.timeout.ms"), _delivery_fault),
    )
