"""How Kafka's console consumers print records, and what their `--formatter` classes are called."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.cli.parsing import decoded
from tidelog.local.faults import WrongUsageError

if TYPE_CHECKING:
    from tidelog.broker.log.dump.stored_fields import StoredFields
    from tidelog.client import ConsumerRecord

Printer = Callable[["ConsumerRecord"], bytes]


def printer(formatter: str | None, properties: dict[str, str], deserializers: dict[str, str | None]) -> Printer:
    """What prints a record; a formatter is known by the last part of its class."""
    name = (formatter or "DefaultMessageFormatter").replace("$", ".").rpartition(".")[2]
    makers: dict[str, Callable[[], Printer]] = {
        "DefaultMessageFormatter": lambda: _default(properties, deserializers),
        "NoOpMessageFormatter": lambda: lambda _: b"",
        "LoggingMessageFormatter": lambda: _default(properties, deserializers),
        "OffsetsMessageFormatter": lambda: offsets_line,
        "GroupMetadataMessageFormatter": lambda: group_line,
        "TransactionLogMessageFormatter": lambda: transaction_line,
    }
    if name not in makers:
        raise WrongUsageError(f"{formatter!r} is not known: --formatter takes one of {', '.join(makers)}.")
    return makers[name]()


def _default(properties: dict[str, str], deserializers: dict[str, str | None]) -> Printer:
    """Kafka's order: timestamp, partition, offset, headers, key, value; the value alone unless more is asked for."""

    def shows(name: str, default: str = "false") -> bool:
        return properties.get(f"print.{name}", default).lower() == "true"

    separator = decoded(properties.get("key.separator", "\t")).encode()
    end = decoded(properties.get("line.separator", "\n")).encode()
    null = properties.get("null.literal", "null").encode()
    header_separator = decoded(properties.get("headers.separator", ",")).encode()
    key_text = _deserializer(properties.get("key.deserializer") or deserializers.get("key"))
    value_text = _deserializer(properties.get("value.deserializer") or deserializers.get("value"))

    def headers(record: "ConsumerRecord") -> bytes:
        parts = [name.encode() + b":" + (null if value is None else value) for name, value in record.headers]
        return header_separator.join(parts) or b"NO_HEADERS"

    fields: list[Printer] = []
    if shows("timestamp"):
        fields.append(
            lambda record: f"{_KINDS.get(record.timestamp_type.name, 'CreateTime')}:{record.timestamp}".encode()
        )
    if shows("partition"):
        fields.append(lambda record: b"Partition:%d" % record.partition)
    if shows("offset"):
        fields.append(lambda record: b"Offset:%d" % record.offset)
    if shows("headers"):
        fields.append(headers)
    if shows("key"):
        fields.append(lambda record: null if record.key is None else key_text(record.key))
    if shows("value", "true"):
        fields.append(lambda record: null if record.value is None else value_text(record.value))
    return lambda record: separator.join(field(record) for field in fields) + end


_KINDS = {"CREATE_TIME": "CreateTime", "LOG_APPEND_TIME": "LogAppendTime"}


def _deserializer(name: str | None) -> Callable[[bytes], bytes]:
    """Numbers are printed as numbers; all else is bytes that are printed as they are."""
    sizes = {"ShortDeserializer": 2, "IntegerDeserializer": 4, "LongDeserializer": 8}
    size = sizes.get((name or "").rpartition(".")[2])
    if size is None:
        return lambda data: data
    return lambda data: str(int.from_bytes(data, "big", signed=True)).encode() if len(data) == size else data


# ---- records of the cluster's own topics


def offsets_line(record: "ConsumerRecord") -> bytes:
    """`[group,topic,partition]::OffsetAndMetadata(...)` for commits, nothing for the rest of __consumer_offsets."""
    kind, key = _versioned(record.key)
    if kind not in (0, 1) or key is None:
        return b""
    where = f"[{key.string()},{key.string()},{key.int32()}]"
    if record.value is None:
        return f"{where}::NULL\n".encode()
    version, fields = _versioned(record.value)
    if fields is None:
        return b""
    fields.flexible = version >= 4
    offset = fields.int64()
    epoch = fields.int32() if version >= 3 else -1
    metadata, committed = fields.string(), fields.int64()
    expires = f"Some({fields.int64()})" if version == 1 else "None"
    shown_epoch = f"Optional[{epoch}]" if epoch >= 0 else "Optional.empty"
    return (
        f"{where}::OffsetAndMetadata(offset={offset}, leaderEpoch={shown_epoch}, metadata={metadata}, "
        f"commitTimestamp={committed}, expireTimestamp={expires})\n"
    ).encode()


def group_line(record: "ConsumerRecord") -> bytes:
    """`group::GroupMetadata(...)` for groups, nothing for the rest of __consumer_offsets."""
    from tidelog.broker.log.dump.offsets_decoder import decode_offsets

    kind, key = _versioned(record.key)
    if kind != 2 or key is None:
        return b""
    _, value = decode_offsets(record)  # type: ignore[arg-type]  # it has the fields that are looked at
    return f"{key.string()}::{value}\n".encode()


def transaction_line(record: "ConsumerRecord") -> bytes:
    """`transactional id::state` for records of __transaction_state."""
    from tidelog.broker.log.dump.transactions_decoder import decode_transaction

    _, key = _versioned(record.key)
    if key is None:
        return b""
    _, value = decode_transaction(record)  # type: ignore[arg-type]  # it has the fields that are looked at
    return f"{key.string()}::{value}\n".encode()


def _versioned(data: bytes | None) -> "tuple[int, StoredFields | None]":
    from tidelog.broker.log.dump.stored_fields import StoredFields

    if data is None or len(data) < 2:
        return -1, None
    fields = StoredFields(bytes(data))
    return fields.int16(), fields
