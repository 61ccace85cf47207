"""Copies a topic to another one, exactly once: keys, values and headers; partitions too if it is asked to keep them."""

from collections.abc import Sequence

from jobs.arguments import parser, read_topic, to_topic
from jobs.running import run
from jobs.session import open_session


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser("copy", __doc__ or "", source="pageviews")
    options.add_argument("--to", required=True, help="the topic to write")
    options.add_argument("--keep-partitions", action="store_true", help="write each record to the partition it was in")
    given = options.parse_args(arguments)
    spark = open_session("tidelog-copy")
    columns = ["key", "value", "headers", *(["partition"] if given.keep_partitions else [])]
    copied = read_topic(spark, given, "copy").select(*columns)
    run([to_topic(copied, given, given.to, "copy").start()], given)


if __name__ == "__main__":
    main()
