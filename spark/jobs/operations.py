"""Consumer lag and broker rates per minute from the topic of metrics that `python -m jobs.scrape` fills."""

from collections.abc import Sequence

from jobs.arguments import parser, read_topic, to_topic
from jobs.running import run
from jobs.session import open_session
from transforms import operations as transform


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser("operations", __doc__ or "", source="metrics")
    options.add_argument("--lags-to", default="lag-per-minute", help="the topic for lags")
    options.add_argument("--rates-to", default="rates-per-minute", help="the topic for rates")
    options.add_argument("--window", default="1 minute", help="the length of a window")
    options.add_argument("--lateness", default="1 minute", help="how late a sample may be")
    given = options.parse_args(arguments)
    spark = open_session("tidelog-operations")
    lags = transform.lags(transform.samples(read_topic(spark, given, "lags")), given.window, given.lateness)
    rates = transform.rates(transform.samples(read_topic(spark, given, "rates")), given.window, given.lateness)
    queries = [
        to_topic(transform.lag_records(lags), given, given.lags_to, "lags").outputMode("append").start(),
        to_topic(transform.rate_records(rates), given, given.rates_to, "rates").outputMode("append").start(),
    ]
    run(queries, given)


if __name__ == "__main__":
    main()
