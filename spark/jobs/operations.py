"""Consumer lag and broker rates per minute from the cluster's own metrics topic, which --scrape or jobs.scrape fills."""

from argparse import Namespace
from collections.abc import Sequence

from jobs.arguments import parser, read_topic, to_topic
from jobs.running import run
from jobs.scrape import scraping
from jobs.session import open_session
from transforms import operations as transform


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser("operations", __doc__ or "", source="metrics")
    options.add_argument("--lags-to", default="lag-per-minute", help="the topic for lags")
    options.add_argument("--rates-to", default="rates-per-minute", help="the topic for rates")
    options.add_argument("--window", default="1 minute", help="the length of a window")
    options.add_argument("--lateness", default="1 minute", help="how late a sample may be")
    options.add_argument("--scrape", default="", help="fill the topic too: host:port,... of processes; empty does not")
    options.add_argument("--scrape-every", type=float, default=10, help="seconds between two rounds")
    given = options.parse_args(arguments)
    places = [each for each in given.scrape.split(",") if each]
    with scraping(given.bootstrap, given.topic, places, given.scrape_every):
        operate(given)


def operate(given: Namespace) -> None:
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
