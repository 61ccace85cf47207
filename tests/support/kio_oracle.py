"""Random messages made and read by kio, an independent codec, to hold ours against."""

from __future__ import annotations

import dataclasses
import io
import pkgutil
from datetime import UTC, datetime, timedelta
from importlib import import_module
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin
from uuid import UUID

import kio.index
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32Timedelta, i64Timedelta

from tidelog.kafka.wire import messages
from tidelog.kafka.wire.schema import Api, Message, Struct

if TYPE_CHECKING:
    from random import Random

EPOCH = datetime.fromtimestamp(0, UTC)
MILLISECOND = timedelta(milliseconds=1)
INTEGER_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
TEXTS = ["", "a", "topic-1", "naïve ☃", "x" * 130, "𝄞 clef", "a" * 20000]


def known_apis() -> list[Api]:
    """Every API that has a schema of ours, in the order of the keys."""
    modules = [import_module(f"{messages.__name__}.{m.name}") for m in pkgutil.iter_modules(messages.__path__)]
    found = {value.key: value for module in modules for value in vars(module).values() if isinstance(value, Api)}
    return [found[key] for key in sorted(found)]


def kio_type(message: type[Message], version: int) -> Any:
    """kio's class for the same message and version, or None if kio does not know it."""
    load = kio.index.load_request_schema if message is message.api.request else kio.index.load_response_schema
    try:
        return load(message.api.key, version)
    except kio.index.KioIndexError:
        return None


def kio_bytes(entity: Any) -> bytes:
    out = io.BytesIO()
    entity_writer(type(entity))(out, entity)
    return out.getvalue()


def kio_read(entity_type: Any, data: bytes) -> tuple[Any, int]:
    entity, size = entity_reader(entity_type)(data, 0)
    return entity, size


def random_entity(entity_type: Any, random: Random) -> Any:
    values = {field.name: _random_field(field, random) for field in dataclasses.fields(entity_type)}
    return entity_type(**values)


def _random_field(field: dataclasses.Field[Any], random: Random) -> Any:
    declared: Any = field.type
    if "tag" in field.metadata and field.default is not dataclasses.MISSING and random.random() < 0.4:
        return field.default
    if NoneType in get_args(declared):
        if random.random() < 0.25:
            return None
        declared = next(one for one in get_args(declared) if one is not NoneType)
    if get_origin(declared) is tuple:
        return tuple(_random_value(get_args(declared)[0], field, random) for _ in range(random.choice([0, 1, 2, 3])))
    return _random_value(declared, field, random)


def _random_value(declared: Any, field: dataclasses.Field[Any], random: Random) -> Any:
    if dataclasses.is_dataclass(declared):
        return random_entity(declared, random)
    kind = field.metadata["kafka_type"]
    if kind in INTEGER_BITS:
        bits = INTEGER_BITS[kind]
        return random.choice([0, -1, 1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), random.randrange(2 ** (bits - 1))])
    return RANDOM_BY_KIND[kind](random)


RANDOM_BY_KIND: dict[str, Any] = {
    "bool": lambda random: random.random() < 0.5,
    "uint16": lambda random: random.choice([0, 65535, 9092]),
    "uint32": lambda random: random.choice([0, 2**32 - 1]),
    "float64": lambda random: random.choice([0.0, -1.5, 1e300]),
    "string": lambda random: random.choice(TEXTS),
    "bytes": lambda random: random.randbytes(random.choice([0, 1, 5, 200])),
    "records": lambda random: random.randbytes(random.choice([0, 61, 500])),
    "uuid": lambda random: UUID(int=random.getrandbits(128)),
    "error_code": lambda random: random.choice(list(ErrorCode)),
    "timedelta_i32": lambda random: i32Timedelta.parse(random.choice([0, 1, -1, 30000, 2**31 - 1]) * MILLISECOND),
    "timedelta_i64": lambda random: i64Timedelta.parse(random.choice([0, 1, -1, 604800000, 2**40]) * MILLISECOND),
    "datetime_i64": lambda random: EPOCH + random.choice([0, 1, 1700000000123]) * MILLISECOND,
}


def assert_same(ours: Any, theirs: Any) -> None:
    """Whether both say the same, name by name."""
    if isinstance(ours, Struct):
        for field in dataclasses.fields(theirs):
            _assert_same_field(ours, field, getattr(theirs, field.name))
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(mine, other)
    else:
        assert ours == theirs


def _assert_same_field(ours: Struct, field: dataclasses.Field[Any], theirs: Any) -> None:
    kind = field.metadata.get("kafka_type", "")
    # AddPartitionsToTxn has other fields from v4 on; kio's names say so.
    name = field.name.removeprefix("v3_and_below_").removesuffix("_v3_and_below")
    if kind.startswith(("timedelta", "datetime")):
        value = getattr(ours, name if hasattr(ours, name) else f"{name}_ms")
        assert value == _milliseconds(theirs)
    elif kind == "uuid" and theirs is None:
        assert getattr(ours, name) == UUID(int=0)
    elif "tag" in field.metadata and getattr(ours, name) is None:
        assert theirs in (None, field.default), "an absent tag"
    else:
        assert_same(getattr(ours, name), theirs)


def _milliseconds(value: Any) -> int:
    if value is None:
        return -1
    return round((value - EPOCH if isinstance(value, datetime) else value) / MILLISECOND)
