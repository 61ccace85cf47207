"""Rows of a DataFrame as records to send: which columns a writer takes, and how Arrow batches become records."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql.types import BinaryType, DataType, IntegerType, StringType, StructType

from pyspark_tidelog.columns import HEADERS_TYPE
from pyspark_tidelog.errors import OptionError

if TYPE_CHECKING:
    import pyarrow as pa

_BYTES = (BinaryType(), StringType())
_TYPES: dict[str, tuple[DataType, ...]] = {
    "value": _BYTES,
    "key": _BYTES,
    "topic": (StringType(),),
    "partition": (IntegerType(),),
}


class Row(NamedTuple):
    """One record to send."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]
    partition: int | None


def check_columns(schema: StructType, topic: str | None) -> None:
    """OptionError unless the columns are those that a writer takes; others are left alone."""
    if "value" not in schema.fieldNames():
        raise OptionError("value: the DataFrame has no such column, and it is what is written.")
    if topic is None and "topic" not in schema.fieldNames():
        raise OptionError("topic: give it as an option, or as a column of the DataFrame.")
    for field in schema.fields:
        allowed = _TYPES.get(field.name, ())
        if allowed and field.dataType not in allowed:
            names = " or ".join(kind.simpleString() for kind in allowed)
            raise OptionError(
                f"{field.name}: the column is of type {field.dataType.simpleString()} and must be {names}."
            )
        if field.name == "headers" and not _are_headers(field.dataType):
            raise OptionError(
                f"headers: the column is of type {field.dataType.simpleString()} "
                f"and must be {HEADERS_TYPE.simpleString()}."
            )


def _are_headers(kind: DataType) -> bool:
    return kind.simpleString() == HEADERS_TYPE.simpleString()


def rows_of(batches: "Iterable[pa.RecordBatch]", topic: str | None) -> Iterator[Row]:
    """Every row, in order. The option `topic` wins over the column."""
    for batch in batches:
        nothing = [None] * batch.num_rows
        columns = {name: batch.column(name) for name in batch.schema.names}
        topics = [topic] * batch.num_rows if topic is not None else columns["topic"].to_pylist()
        keys = _bytes(columns["key"]) if "key" in columns else nothing
        headers = columns["headers"].to_pylist() if "headers" in columns else nothing
        partitions = columns["partition"].to_pylist() if "partition" in columns else nothing
        for name, key, value, some, number in zip(
            topics, keys, _bytes(columns["value"]), headers, partitions, strict=True
        ):
            if name is None:
                raise OptionError("topic: a row has none, and there is no such option.")
            yield Row(name, key, value, [(each["key"], each["value"]) for each in some or ()], number)


def _bytes(column: "pa.Array") -> list[bytes | None]:
    import pyarrow as pa

    found: list[bytes | None] = column.cast(pa.binary()).to_pylist()
    return found
