"""The columns of a topic: those of Spark's Kafka source, in its order and with its types."""

from functools import cache
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pyspark_tidelog.errors import OptionError

if TYPE_CHECKING:
    import pyarrow as pa

_HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
HEADERS_TYPE = ArrayType(_HEADER)

_COLUMNS = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
    ]
)
_ALL = StructType([*_COLUMNS.fields, StructField("headers", HEADERS_TYPE)])


def table_schema(*, include_headers: bool) -> StructType:
    return _ALL if include_headers else _COLUMNS


def check_wanted(schema: StructType) -> StructType:
    """A schema that a user gave to a reader: some of the columns, with their types. The others are then never made."""
    known = {field.name: field.dataType for field in _ALL.fields}
    for field in schema.fields:
        if field.name not in known:
            raise OptionError(f"schema: there is no column {field.name}; there are {', '.join(known)}.")
        if field.dataType != known[field.name]:
            raise OptionError(
                f"schema: column {field.name} is of type {known[field.name].simpleString()}, "
                f"not {field.dataType.simpleString()}."
            )
    return schema


@cache
def arrow_schema(columns: tuple[str, ...]) -> "pa.Schema":
    """The same columns as Spark wants them from Arrow."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(StructType([_ALL[name] for name in columns]), timezone="UTC")
