"""Operations: consumer lag and broker rates per minute, out of samples of the cluster's own metrics."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from transforms.json_values import keyed, parsed

_FIELDS = "name STRING, labels MAP<STRING, STRING>, value DOUBLE, instance STRING"
_LAG = "kafka_consumergroup_lag"


def samples(records: DataFrame) -> DataFrame:
    """Samples of metrics out of a topic's records."""
    return parsed(records, _FIELDS).where("name IS NOT NULL AND value IS NOT NULL")


def lags(samples: DataFrame, window: str = "1 minute", lateness: str = "1 minute") -> DataFrame:
    """The highest and the last lag of each group and topic, by partition, in each window."""
    return (
        samples.where(f.col("name") == _LAG)
        .withColumn("group", f.col("labels")["consumergroup"])
        .withColumn("topic", f.col("labels")["topic"])
        .withColumn("partition", f.col("labels")["partition"].cast("int"))
        .withWatermark("at", lateness)
        .groupBy(f.window("at", window), "group", "topic", "partition")
        .agg(f.max("value").alias("lag_max"), f.max_by("value", "at").alias("lag"))
        .select(f.col("window.start").alias("window_start"), "group", "topic", "partition", "lag", "lag_max")
    )


def rates(samples: DataFrame, window: str = "1 minute", lateness: str = "1 minute") -> DataFrame:
    """By how much each counter of each process grew in a second. A counter that began anew in a window has no rate."""
    seconds = f.max("at").cast("double") - f.min("at").cast("double")
    grown = f.max_by("value", "at") - f.min_by("value", "at")
    return (
        samples.where(f.col("name").endswith("_total"))
        .withColumn("series", f.to_json("labels"))
        .withWatermark("at", lateness)
        .groupBy(f.window("at", window), "instance", "name", "series")
        .agg(f.when((seconds > 0) & (grown >= 0), grown / seconds).alias("per_second"))
        .select(f.col("window.start").alias("window_start"), "instance", "name", "series", "per_second")
    )


def lag_records(rows: DataFrame) -> DataFrame:
    return keyed(rows, "group", "topic", "partition", "window_start")


def rate_records(rows: DataFrame) -> DataFrame:
    return keyed(rows, "instance", "name", "series", "window_start")
