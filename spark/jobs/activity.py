"""Page views and searches per page and window: to a compacted topic as they change, to Parquet by day when final."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from jobs.arguments import parser, read_topic, triggered, updates_to_topic
from jobs.running import run
from jobs.session import open_session
from transforms import activity as transform


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser("activity", __doc__ or "", source="pageviews")
    options.add_argument("--to", default="pageviews-per-minute", help="the compacted topic for counts")
    options.add_argument("--parquet", default="", help="the folder for final counts; empty is none")
    options.add_argument("--window", default="1 minute", help="the length of a window")
    options.add_argument("--lateness", default="2 minutes", help="how late an event may be")
    given = options.parse_args(arguments)
    spark = open_session("tidelog-activity")

    def counts(name: str) -> DataFrame:
        return transform.activity(transform.events(read_topic(spark, given, name)), given.window, given.lateness)

    queries = [updates_to_topic(transform.as_records(counts("activity")), given, given.to, "activity").start()]
    if given.parquet:
        files = transform.by_day(counts("activity-parquet")).writeStream.format("parquet").partitionBy("day")
        files = triggered(files.option("path", given.parquet), given, "activity-parquet")
        queries.append(files.outputMode("append").start())
    run(queries, given)


if __name__ == "__main__":
    main()
