"""Record batches of a topic as Arrow record batches: a column at a time, and only the columns that are wanted."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from pyspark_tidelog.batches import OpenBatch
from pyspark_tidelog.columns import arrow_schema


def to_arrow(batches: Sequence[OpenBatch], topic: str, partition: int, columns: tuple[str, ...]) -> pa.RecordBatch:
    """All records of these batches as one Arrow batch."""
    schema = arrow_schema(columns)
    records = list(chain.from_iterable(batch.records for batch in batches))
    count = len(records)
    arrays = []
    for field in schema:
        if field.name == "topic":
            arrays.append(pa.repeat(pa.scalar(topic, field.type), count))
        elif field.name == "partition":
            arrays.append(pa.repeat(pa.scalar(partition, field.type), count))
        elif field.name == "timestampType":
            arrays.append(_timestamp_types(batches, field.type))
        else:
            arrays.append(_COLUMNS[field.name](records, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _keys(records: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([each.key for each in records], kind)


def _values(records: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([each.value for each in records], kind)


def _offsets(records: Sequence[Any], kind: pa.DataType) -> pa.Array:
    first, last = records[0].offset, records[-1].offset
    if last - first + 1 == len(records):
        return pa.array(range(first, last + 1), kind)
    return pa.array([each.offset for each in records], kind)


def _timestamps(records: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([each.timestamp for each in records], pa.timestamp("ms", "UTC")).cast(kind)


def _headers(records: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([_header_structs(each.headers) for each in records], kind)


def _header_structs(headers: Sequence[tuple[str | bytes, bytes | None]]) -> list[dict[str, Any]] | None:
    """None where there are no headers, as Spark has it."""
    return [{"key": _text(key), "value": value} for key, value in headers] or None


def _text(key: str | bytes) -> str:
    return key if isinstance(key, str) else key.decode("utf-8", "replace")


def _timestamp_types(batches: Sequence[OpenBatch], kind: pa.DataType) -> pa.Array:
    parts = [pa.repeat(pa.scalar(batch.timestamp_type, kind), len(batch.records)) for batch in batches]
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


_COLUMNS: dict[str, Callable[[Sequence[Any], pa.DataType], pa.Array]] = {
    "key": _keys,
    "value": _values,
    "offset": _offsets,
    "timestamp": _timestamps,
    "headers": _headers,
}
