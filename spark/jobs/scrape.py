"""Fills the topic of metrics: reads /metrics of the processes that are named, and writes each sample as a record."""

import json
import time
import urllib.request
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from prometheus_client.parser import text_string_to_metric_families

from tidelog.client.sync import Producer

_TIMEOUT_S = 5.0
_WANTED = ("_total", "_lag", "_lag_sum")


def samples(text: str, instance: str, at: datetime) -> Iterator[tuple[str, str]]:
    """Key and value for each counter and lag in what a process says."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.endswith(_WANTED):
                told = {"name": sample.name, "labels": sample.labels, "value": sample.value, "instance": instance}
                yield f"{instance}|{sample.name}", json.dumps({**told, "at": at.isoformat(timespec="milliseconds")})


def scrape(producer: Producer, topic: str, instance: str) -> int:
    """Send the samples of one process, host:port, and tell how many; a process that does not answer has none."""
    try:
        with urllib.request.urlopen(f"http://{instance}/metrics", timeout=_TIMEOUT_S) as answer:
            text = answer.read().decode()
    except OSError as error:
        print(f"{instance}: {error}", flush=True)
        return 0
    found = list(samples(text, instance, datetime.now(UTC)))
    for key, value in found:
        producer.send(topic, value.encode(), key.encode())
    return len(found)


def main(arguments: Sequence[str] | None = None) -> None:
    options = ArgumentParser(
        prog="python -m jobs.scrape", description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter
    )
    options.add_argument("instances", nargs="+", help="host:port of each process that serves /metrics")
    options.add_argument("--bootstrap", default="127.0.0.1:9092", help="brokers, host:port,host:port")
    options.add_argument("--topic", default="metrics", help="the topic to write")
    options.add_argument("--every", type=float, default=10, help="seconds between two rounds")
    options.add_argument("--rounds", type=int, default=0, help="how many rounds; 0 is for ever")
    given = options.parse_args(arguments)
    done = 0
    with Producer(bootstrap_servers=given.bootstrap, linger_ms=50) as producer:
        while not given.rounds or done < given.rounds:
            sent = sum(scrape(producer, given.topic, each) for each in given.instances)
            print(f"{sent} samples of {len(given.instances)} processes", flush=True)
            done += 1
            time.sleep(given.every)


if __name__ == "__main__":
    main()
