"""Records of __consumer_offsets: the offsets of a group, and what a group is made of."""

from base64 import b64encode
from typing import TYPE_CHECKING

from tidelog.broker.log.dump.java_text import Json, json_text
from tidelog.broker.log.dump.options import DumpError
from tidelog.broker.log.dump.stored_fields import EndedEarlyError, MalformedError, StoredFields

if TYPE_CHECKING:
    from tidelog.kafka.records.record import StoredRecord

_GROUP_KEY = 2
_HIGHEST_KEY = 2
_FLEXIBLE_VALUE = 4
_EMBEDDED_PROTOCOL = "consumer"
_HIGHEST_EMBEDDED = 3
DELETED = "<DELETE>"


def decode_offsets(record: "StoredRecord") -> tuple[str | None, str | None]:
    """What stands for the key and for the value; records that cannot be read say so in the place of their key."""
    if record.key is None:
        raise DumpError(
            f"Failed to decode message at offset {record.offset} using offset topic decoder (message had a missing key)"
        )
    if len(record.key) < 2:
        return f"Error at offset {record.offset}, skipping. Could not read version from key's buffer.", None
    key = StoredFields(record.key)
    kind = key.int16()
    if not 0 <= kind <= _HIGHEST_KEY:
        return f"Unknown record type {kind} at offset {record.offset}, skipping.", None
    try:
        key_text = json_text({"type": str(kind), "data": _key(key, kind)})
    except MalformedError as fault:
        return _unreadable(record, kind, "key", fault), None
    if record.value is None:
        return key_text, DELETED
    return _with_value(record, kind, key_text, record.value)


def _with_value(record: "StoredRecord", kind: int, key_text: str, value: bytes) -> tuple[str, str | None]:
    if len(value) < 2:
        return f"Error at offset {record.offset}, skipping. Could not read version from value's buffer.", None
    fields = StoredFields(value)
    version = fields.int16()
    fields.flexible = version >= _FLEXIBLE_VALUE
    try:
        data = _group(fields, version) if kind == _GROUP_KEY else _offset(fields, version)
    except MalformedError as fault:
        return _unreadable(record, version, "value", fault), None
    return key_text, json_text({"version": str(version), "data": data})


def _unreadable(record: "StoredRecord", version: int, what: str, fault: MalformedError) -> str:
    reason = "null" if isinstance(fault, EndedEarlyError) else str(fault)
    return (
        f"Error at offset {record.offset}, skipping. "
        f"Could not read record with version {version} from {what}'s buffer due to: {reason}."
    )


def _key(fields: StoredFields, kind: int) -> Json:
    group = fields.string()
    return (
        {"group": group}
        if kind == _GROUP_KEY
        else {"group": group, "topic": fields.string(), "partition": fields.int32()}
    )


def _offset(fields: StoredFields, version: int) -> Json:
    data: dict[str, Json] = {"offset": fields.int64()}
    if version >= 3:
        data["leaderEpoch"] = fields.int32()
    data["metadata"] = fields.string()
    data["commitTimestamp"] = fields.int64()
    if version == 1:
        data["expireTimestamp"] = fields.int64()
    return data


def _group(fields: StoredFields, version: int) -> Json:
    protocol_type = fields.string()
    data: dict[str, Json] = {
        "protocolType": protocol_type,
        "generation": fields.int32(),
        "protocol": fields.nullable_string(),
        "leader": fields.nullable_string(),
    }
    if version >= 2:
        data["currentStateTimestamp"] = fields.int64()
    data["members"] = fields.array(lambda: _member(fields, version, is_embedded=protocol_type == _EMBEDDED_PROTOCOL))
    return data


def _member(fields: StoredFields, version: int, *, is_embedded: bool) -> Json:
    data: dict[str, Json] = {"memberId": fields.string()}
    if version >= 3:
        data["groupInstanceId"] = fields.nullable_string()
    data["clientId"] = fields.string()
    data["clientHost"] = fields.string()
    if version >= 1:
        data["rebalanceTimeout"] = fields.int32()
    data["sessionTimeout"] = fields.int32()
    subscription, assignment = fields.data(), fields.data()
    fields.tags()
    data["subscription"] = _subscription(subscription) if is_embedded else _base64(subscription)
    data["assignment"] = _assignment(assignment) if is_embedded else _base64(assignment)
    return data


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode("ascii")


def _subscription(data: bytes) -> Json:
    """What the embedded protocol of consumers says; the bytes themselves if they are none of it."""
    fields = StoredFields(data)
    try:
        version = _embedded_version(fields)
        found: dict[str, Json] = {"topics": fields.array(fields.string), "userData": _base64(fields.nullable_data())}
        if version >= 1:
            found["ownedPartitions"] = fields.array(lambda: _topic(fields))
        if version >= 2:
            found["generationId"] = fields.int32()
        if version >= 3:
            found["rackId"] = fields.nullable_string()
    except MalformedError:
        return _base64(data)
    return found


def _assignment(data: bytes) -> Json:
    fields = StoredFields(data)
    try:
        _embedded_version(fields)
        return {
            "assignedPartitions": fields.array(lambda: _topic(fields)),
            "userData": _base64(fields.nullable_data()),
        }
    except MalformedError:
        return _base64(data)


def _embedded_version(fields: StoredFields) -> int:
    """A version that is not known yet begins like the highest known one."""
    version = fields.int16()
    if version < 0:
        raise MalformedError("a version is negative")
    return min(version, _HIGHEST_EMBEDDED)


def _topic(fields: StoredFields) -> Json:
    return {"topic": fields.string(), "partitions": fields.array(fields.int32)}
