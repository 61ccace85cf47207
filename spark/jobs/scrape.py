"""Fills the topic of metrics: reads /metrics of the processes that are named, and writes each sample as a record."""

import json
import socket
import threading
import time
import urllib.request
from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TypeVar

from prometheus_client.parser import text_string_to_metric_families

from tidelog.client import KafkaCode, KafkaError, NewTopic
from tidelog.client.errors import ClientError
from tidelog.client.sync import Admin, Producer

T = TypeVar("T")
_TIMEOUT_S = 5.0
_WANTED = ("_total", "_lag", "_lag_sum")


def samples(text: str, instance: str, at: datetime) -> Iterator[tuple[str, str]]:
    """Key and value for each counter and lag in what a process says."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.endswith(_WANTED):
                told = {"name": sample.name, "labels": sample.labels, "value": sample.value, "instance": instance}
                yield f"{instance}|{sample.name}", json.dumps({**told, "at": at.isoformat(timespec="milliseconds")})


def addresses(place: str) -> list[str]:
    """host:port for each process behind a place. The name of a headless service stands for all of its pods."""
    host, _, port = place.rpartition(":")
    found = {str(told[4][0]) for told in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    return sorted(f"[{each}]:{port}" if ":" in each else f"{each}:{port}" for each in found)


def scrape(producer: Producer, topic: str, place: str) -> int:
    """Send the samples of the processes at a place, host:port, and tell how many; one that does not answer has none."""
    sent = 0
    for instance in _told(place, lambda: addresses(place)) or ():
        text = _told(instance, lambda at=instance: _metrics(at))  # type: ignore[misc]  # the default binds it now
        for key, value in samples(text or "", instance, datetime.now(UTC)):
            producer.send(topic, value.encode(), key.encode())
            sent += 1
    return sent


def _metrics(instance: str) -> str:
    with urllib.request.urlopen(f"http://{instance}/metrics", timeout=_TIMEOUT_S) as answer:
        return str(answer.read().decode())


def _told(place: str, ask: Callable[[], T]) -> T | None:
    """The answer, or nothing and a line that says why."""
    try:
        return ask()
    except OSError as error:
        print(f"{place}: {error}", flush=True)
        return None


@contextmanager
def scraping(bootstrap: str, topic: str, places: Sequence[str], every_s: float) -> Iterator[None]:
    """Meanwhile, a thread fills the topic every so many seconds; the topic is made first. No places, no thread."""
    if not places:
        yield
        return
    _make(bootstrap, topic)
    ended = threading.Event()
    with Producer(bootstrap_servers=bootstrap, linger_ms=50) as producer:
        thread = threading.Thread(target=_keep_scraping, args=(producer, topic, places, every_s, ended), name="scrape")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def _keep_scraping(
    producer: Producer, topic: str, places: Sequence[str], every_s: float, ended: threading.Event
) -> None:
    while not ended.is_set():
        for place in places:
            try:
                scrape(producer, topic, place)
            except (ClientError, KafkaError) as error:
                print(f"samples of {place} were not sent: {error}", flush=True)
        ended.wait(every_s)


def _make(bootstrap: str, topic: str) -> None:
    with Admin(bootstrap_servers=bootstrap) as admin:
        try:
            admin.create_topics([NewTopic(topic)])
        except KafkaError as error:
            if error.code is not KafkaCode.TOPIC_ALREADY_EXISTS:
                raise


def main(arguments: Sequence[str] | None = None) -> None:
    options = ArgumentParser(
        prog="python -m jobs.scrape", description=__doc__, formatter_class=ArgumentDefaultsHelpFormatter
    )
    options.add_argument(
        "places", nargs="+", help="host:port of processes that serve /metrics; a name may be of several"
    )
    options.add_argument("--bootstrap", default="127.0.0.1:9092", help="brokers, host:port,host:port")
    options.add_argument("--topic", default="metrics", help="the topic to write")
    options.add_argument("--every", type=float, default=10, help="seconds between two rounds")
    options.add_argument("--rounds", type=int, default=0, help="how many rounds; 0 is for ever")
    given = options.parse_args(arguments)
    done = 0
    with Producer(bootstrap_servers=given.bootstrap, linger_ms=50) as producer:
        while not given.rounds or done < given.rounds:
            if done:
                time.sleep(given.every)
            sent = sum(scrape(producer, given.topic, each) for each in given.places)
            print(f"{sent} samples of {len(given.places)} places", flush=True)
            done += 1


if __name__ == "__main__":
    main()
