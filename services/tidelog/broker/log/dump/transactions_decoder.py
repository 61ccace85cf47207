"""Records of __transaction_state: what the coordinator knows of a transactional id."""

from typing import TYPE_CHECKING

from tidelog.broker.log.dump.java_text import in_set_order
from tidelog.broker.log.dump.offsets_decoder import DELETED
from tidelog.broker.log.dump.options import DumpError
from tidelog.broker.log.dump.stored_fields import MalformedError, StoredFields

if TYPE_CHECKING:
    from tidelog.kafka.records.record import StoredRecord

_FLEXIBLE_VALUE = 1
_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)


def decode_transaction(record: "StoredRecord") -> tuple[str | None, str | None]:
    """What stands for the key and for the value."""
    if record.key is None:
        raise DumpError(
            f"Failed to decode message at offset {record.offset} as transaction metadata (message had a missing key)"
        )
    try:
        key = StoredFields(record.key)
        version = key.int16()
        if version != 0:
            return f"unknown::version={version}", None
        key_text = f"transaction_metadata::transactionalId={key.string()}"
        return key_text, DELETED if record.value is None else _value(record.value)
    except MalformedError as fault:
        raise DumpError(
            f"Failed to decode message at offset {record.offset} as transaction metadata ({fault})"
        ) from None


def _value(data: bytes) -> str:
    fields = StoredFields(data)
    version = fields.int16()
    if not 0 <= version <= _FLEXIBLE_VALUE:
        raise MalformedError(f"its value has the unknown version {version}")
    fields.flexible = version >= _FLEXIBLE_VALUE
    producer_id, epoch, timeout_ms, state = fields.int64(), fields.int16(), fields.int32(), fields.int8()
    partitions = fields.nullable_array(lambda: _topic(fields)) or []
    last_update_ms = fields.int64()
    return (
        f"producerId:{producer_id},producerEpoch:{epoch},state={_state_name(state)},"
        f"partitions=[{','.join(in_set_order(partitions))}],"
        f"txnLastUpdateTimestamp={last_update_ms},txnTimeoutMs={timeout_ms}"
    )


def _state_name(state: int) -> str:
    if not 0 <= state < len(_STATES):
        raise MalformedError(f"its state is {state}, which is none")
    return _STATES[state]


def _topic(fields: StoredFields) -> tuple[str, list[int]]:
    topic = fields.string(), fields.array(fields.int32)
    fields.tags()
    return topic
