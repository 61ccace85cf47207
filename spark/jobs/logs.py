"""Service logs to error rates and top messages, a topic each; both are written when their window is final."""

from collections.abc import Sequence

from jobs.arguments import parser, read_topic, to_topic
from jobs.running import run
from jobs.session import open_session
from transforms import logs as transform


def main(arguments: Sequence[str] | None = None) -> None:
    options = parser("logs", __doc__ or "", source="service-logs")
    options.add_argument("--rates-to", default="error-rates", help="the topic for error rates")
    options.add_argument("--messages-to", default="top-messages", help="the topic for top messages")
    options.add_argument("--window", default="1 minute", help="the length of a window")
    options.add_argument("--lateness", default="5 minutes", help="how late a line may be")
    options.add_argument("--top", type=int, default=5, help="how many messages of a service and window")
    given = options.parse_args(arguments)
    spark = open_session("tidelog-logs")
    rates = transform.error_rates(
        transform.lines(read_topic(spark, given, "error-rates")), given.window, given.lateness
    )
    messages = transform.top_messages(
        transform.lines(read_topic(spark, given, "top-messages")), given.window, given.lateness, given.top
    )
    queries = [
        to_topic(transform.as_records(rates), given, given.rates_to, "error-rates").outputMode("append").start(),
        to_topic(transform.as_records(messages), given, given.messages_to, "top-messages").outputMode("append").start(),
    ]
    run(queries, given)


if __name__ == "__main__":
    main()
