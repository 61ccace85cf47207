"""Exports a topic to Parquet folders by topic and day; goes on where it stopped, and writes nothing twice."""

from collections.abc import Sequence

from pyspark.sql import functions as f

from jobs.arguments import parser, read_topic, triggered
from jobs.running import run
from jobs.session import open_session


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser("export", __doc__ or "", source="pageviews")
    options.add_argument("--path", required=True, help="the folder to write to")
    given = options.parse_args(arguments)
    spark = open_session("tidelog-export")
    rows = read_topic(spark, given, "export").withColumn("day", f.to_date("timestamp"))
    files = rows.writeStream.format("parquet").partitionBy("topic", "day").option("path", given.path)
    run([triggered(files, given, "export").start()], given)


if __name__ == "__main__":
    main()
