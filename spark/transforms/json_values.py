"""Values of records that are JSON: rows with the fields that were asked for, without what cannot be read."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f


def parsed(records: DataFrame, fields: str) -> DataFrame:
    """One row for each value that is a JSON object with a time `at`; `fields` is in Spark's DDL."""
    event = f.from_json(f.col("value").cast("string"), f"{fields}, at TIMESTAMP").alias("event")
    return records.select(event).select("event.*").where(f.col("at").isNotNull())


def keyed(rows: DataFrame, *key: str) -> DataFrame:
    """Rows as records: some columns make the key, all of them the value."""
    return rows.select(
        f.concat_ws("|", *(f.col(each).cast("string") for each in key)).alias("key"),
        f.to_json(f.struct(*rows.columns)).alias("value"),
    )
