"""Activity tracking: page views and searches per page and window."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from transforms.json_values import keyed, parsed

_FIELDS = "kind STRING, page STRING, user STRING"


def events(records: DataFrame) -> DataFrame:
    """Views and searches out of a topic's records."""
    return parsed(records, _FIELDS).where("kind IN ('view', 'search') AND page IS NOT NULL")


def activity(events: DataFrame, window: str = "1 minute", lateness: str = "2 minutes") -> DataFrame:
    """How often, and by about how many users, each page was viewed and searched in each window."""
    return (
        events.withWatermark("at", lateness)
        .groupBy(f.window("at", window), "page", "kind")
        .agg(f.count("*").alias("events"), f.approx_count_distinct("user").alias("users"))
        .select(
            f.col("window.start").alias("window_start"),
            f.col("window.end").alias("window_end"),
            "page",
            "kind",
            "events",
            "users",
        )
    )


def as_records(counts: DataFrame) -> DataFrame:
    """For a compacted topic: the newest count of a page and window replaces those before it."""
    return keyed(counts, "page", "kind", "window_start")


def by_day(counts: DataFrame) -> DataFrame:
    """With a column to make folders of."""
    return counts.withColumn("day", f.to_date("window_start"))
