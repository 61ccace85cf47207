"""Log aggregation: error rates of services, and what they complain about most."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from transforms.json_values import keyed, parsed

_FIELDS = "service STRING, level STRING, message STRING"
_IS_ERROR = "upper(level) IN ('ERROR', 'CRITICAL', 'FATAL')"


def lines(records: DataFrame) -> DataFrame:
    """Lines of logs out of a topic's records."""
    return parsed(records, _FIELDS).where("service IS NOT NULL AND level IS NOT NULL")


def error_rates(lines: DataFrame, window: str = "1 minute", lateness: str = "5 minutes") -> DataFrame:
    """Lines, errors and their share for each service and window. Lines later than `lateness` do not count."""
    return (
        lines.withWatermark("at", lateness)
        .groupBy(f.window("at", window), "service")
        .agg(f.count("*").alias("lines"), f.count(f.expr(f"CASE WHEN {_IS_ERROR} THEN 1 END")).alias("errors"))
        .select(
            f.col("window.start").alias("window_start"),
            "service",
            "lines",
            "errors",
            (f.col("errors") / f.col("lines")).alias("error_rate"),
        )
    )


def top_messages(lines: DataFrame, window: str = "1 minute", lateness: str = "5 minutes", most: int = 5) -> DataFrame:
    """The most frequent errors of each service and window; messages that differ in numbers only count as one."""
    # Lines that are no errors have no message here, and are counted on: time goes on with every line, and Spark moves
    # filters in front of the watermark.
    complaint = f.when(f.expr(_IS_ERROR), f.regexp_replace("message", r"\d+", "#"))
    counted = (
        lines.withColumn("message", complaint)
        .withWatermark("at", lateness)
        .groupBy(f.window("at", window), "service", "message")
        .agg(f.count("*").alias("count"))
    )
    errors = f.collect_list(f.when(f.col("message").isNotNull(), f.struct("count", "message")))
    return (
        counted.groupBy("window", "service")
        .agg(f.slice(f.sort_array(errors, asc=False), 1, most).alias("top"))
        .where(f.size("top") > 0)
        .select(f.col("window.start").alias("window_start"), "service", "top")
    )


def as_records(rows: DataFrame) -> DataFrame:
    return keyed(rows, "service", "window_start")
