"""Makes realistic traffic: people who view pages and search, and services that write logs about it."""

import json
import random
import time
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from tidelog.client.sync import Producer

_PAGES = ("/", "/search", "/cart", "/login", *(f"/product/{number}" for number in range(1, 21)))
_SERVICES = ("cart", "catalogue", "checkout", "search", "users")
_ERRORS = ("upstream timed out after {} ms", "connection {} was reset", "order {} has no address")
_LATEST_S = 30.0


class Message(NamedTuple):
    """One record to send."""

    topic: str
    key: str
    value: str


def traffic(chance: random.Random, now_s: float) -> Message:
    """One message of either kind; a few are late, as those of phones without a network are."""
    is_late = chance.random() < 0.02
    at = now_s - (chance.uniform(1, _LATEST_S) if is_late else 0)
    return _log_line(chance, at) if chance.random() < 0.3 else _event(chance, at)


def _event(chance: random.Random, at_s: float) -> Message:
    # Few pages are viewed often and most of them seldom.
    page = _PAGES[min(int(chance.paretovariate(1.1)) - 1, len(_PAGES) - 1)]
    user = f"user-{int(chance.triangular(1, 500, 1))}"
    kind = "search" if page == "/search" or chance.random() < 0.1 else "view"
    return Message("pageviews", user, _json(at_s, kind=kind, page=page, user=user))


def _log_line(chance: random.Random, at_s: float) -> Message:
    service = chance.choice(_SERVICES)
    is_error = chance.random() < (0.12 if service == "checkout" else 0.02)
    message = chance.choice(_ERRORS).format(chance.randrange(10_000)) if is_error else "request served"
    level = "ERROR" if is_error else "INFO"
    return Message("service-logs", service, _json(at_s, service=service, level=level, message=message))


def _json(at_s: float, **fields: str) -> str:
    return json.dumps({**fields, "at": datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds")})


def paced(rate: float, seconds: float) -> Iterator[float]:
    """The present, so many times in a second, for so long."""
    start = time.monotonic()
    number = 0
    while not seconds or number < rate * seconds:
        ahead_s = start + number / rate - time.monotonic()
        if ahead_s > 0:
            time.sleep(ahead_s)
        number += 1
        yield time.time()


def send_traffic(bootstrap: str, rate: float, seconds: float, seed: int | None = None) -> int:
    """Send messages at a rate for a time (0 is for ever), and tell how many."""
    chance, sent = random.Random(seed), 0  # noqa: S311  no secret
    with Producer(bootstrap_servers=bootstrap, linger_ms=20) as producer:
        for now_s in paced(rate, seconds):
            message = traffic(chance, now_s)
            producer.send(message.topic, message.value.encode(), message.key.encode())
            sent += 1
            if sent % max(1, int(rate * 10)) == 0:
                print(f"{sent} messages sent", flush=True)
    return sent


def main(arguments: Sequence[str] | None = None) -> None:
    options = ArgumentParser(
        prog="python -m jobs.traffic", description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter
    )
    options.add_argument("--bootstrap", default="127.0.0.1:9092", help="brokers, host:port,host:port")
    options.add_argument("--rate", type=float, default=200, help="messages in a second")
    options.add_argument("--seconds", type=float, default=0, help="for how long; 0 is for ever")
    options.add_argument("--seed", type=int, help="the same seed makes the same traffic")
    given = options.parse_args(arguments)
    print(f"{send_traffic(given.bootstrap, given.rate, given.seconds, given.seed)} messages sent")


if __name__ == "__main__":
    main()
