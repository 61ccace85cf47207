"""Page views and searches per page and window: to a compacted topic as they change, to Parquet by day when final."""

from collections.abc import Sequence

from jobs.arguments import parser, read_topic, to_topic, triggered
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
    events = transform.events(read_topic(spark, given))
    counts = transform.activity(events, given.window, given.lateness)
    queries = [to_topic(transform.as_records(counts), given, given.to, "activity").outputMode("update").start()]
    if given.parquet:
        files = transform.by_day(counts).writeStream.format("parquet").partitionBy("day").option("path", given.parquet)
        queries.append(triggered(files, given, "activity-parquet").outputMode("append").start())
    run(queries, given)


if __name__ == "__main__":
    main()
