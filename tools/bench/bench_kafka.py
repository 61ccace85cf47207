"""The same client work against Apache Kafka and Tidelog in one run, as one table of figures and ratios.

    python -m tools.bench.bench_kafka [--seconds 3] [--warm-up 5] [--rounds 1] [--only PART,...] [--jars FOLDER]

The client is librdkafka on the same machine, so that both systems share the cores with it, and in the cases of many small
records it is the client that sets the pace. What tells more than time is the CPU that the servers spend, all of their
processes together. Two gigabytes are written and deleted before each produce case: on virtual machines a page that has
been free for some time costs several times as much as one that was just freed, and one system would pay for the other.
Each system does all cases once before they are measured, because a JVM needs that to compile what is hot. With several
rounds the systems take turns, and the median counts.
"""

import argparse
import os
import shutil
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka

from tools.bench.fault_cases import leader_ends
from tools.bench.figures import Figures, table
from tools.bench.group_cases import commit_latencies, join_seconds
from tools.bench.kafka_peer import KafkaPeer, fetch_jars
from tools.bench.latency_cases import closed_loop, end_to_end
from tools.bench.partition_cases import create_many
from tools.bench.system import GIVE_UP_S, Peer, System
from tools.bench.throughput_cases import BIG_BATCHES, produce_and_consume
from tools.bench.tidelog_peer import TidelogPeer

KAFKA_PORTS, TIDELOG_PORTS = 22_000, 22_100
BROKERS = 3
REPLICAS = 3
GROUP_PARTITIONS = 20
SETTLE_S = 5.0  # until start-up is over for caches and collectors, and memory is "idle"


def start(system: System) -> None:
    begun = time.perf_counter()
    system.peer.up()
    system.until(lambda: len(system.admin.list_topics(timeout=1).brokers) == BROKERS)
    with system.topic(1) as topic:
        producer = confluent_kafka.Producer(system.config(acks="all"))
        delivered: list[Any] = []
        producer.produce(topic, b"first", on_delivery=lambda error, _: delivered.append(error))
        producer.flush(GIVE_UP_S)
        assert delivered == [None], delivered
        system.figures.add("start", time.perf_counter() - begun)
    system.pids = system.peer.pids()
    time.sleep(SETTLE_S)
    system.figures.add("rss idle", system.largest_broker_mb())


def one_copy(system: System) -> None:
    produce_and_consume(system, "produce", 1024, consume="consume 1KiB")
    produce_and_consume(system, "produce 1MB", 1024, batching=BIG_BATCHES)
    produce_and_consume(system, None, 100, consume="consume 100B")
    closed_loop(system, "small", replicas=1, in_flight=5)


def replicated(system: System) -> None:
    produce_and_consume(system, "produce all", 1024, replicas=REPLICAS)
    produce_and_consume(system, "produce all 100B", 100, replicas=REPLICAS)
    closed_loop(system, "small all", replicas=REPLICAS, in_flight=1)
    end_to_end(system, "e2e", REPLICAS)


def partitions(system: System) -> None:
    create_many(system, "create 1000", 1000, 1)
    create_many(system, "create 300", 300, REPLICAS)


def groups(system: System) -> None:
    for members in (1, 10, 100):
        shared = max(GROUP_PARTITIONS, members)
        with system.topic(shared, REPLICAS) as topic:
            system.figures.add(f"join {members}", join_seconds(system.config(), topic, shared, members))
    with system.topic(1, REPLICAS) as topic:
        latencies = sorted(commit_latencies(system.config(), topic, system.seconds))
        system.figures.add("commit", len(latencies) / sum(latencies))
        system.figures.add("commit p99", latencies[len(latencies) * 99 // 100] * 1000)


def faults(system: System) -> None:
    leader_ends(system, "kill gap", signal.SIGKILL)
    leader_ends(system, "term gap", signal.SIGTERM)


# In this order: whoever kills brokers comes last.
PARTS: dict[str, Callable[[System], None]] = {
    "one-copy": one_copy,
    "replicated": replicated,
    "partitions": partitions,
    "groups": groups,
    "faults": faults,
}
# Nothing is gained by doing these twice.
NOT_WARMED_UP = {"faults"}


def measure(system: System, parts: list[str], warm_up_s: float) -> None:
    """One round of one system."""
    start(system)
    if warm_up_s:
        measured_s, system.seconds = system.seconds, warm_up_s
        system.figures.is_warming_up = True
        for part in parts:
            if part not in NOT_WARMED_UP:
                PARTS[part](system)
        system.figures.is_warming_up = False
        system.seconds = measured_s
        system.forget()
    for part in parts:
        if part == "faults":
            system.figures.add("rss after", system.largest_broker_mb())
        PARTS[part](system)
    if "faults" not in parts:
        system.figures.add("rss after", system.largest_broker_mb())


def _parts(text: str) -> list[str]:
    wanted = text.split(",")
    if unknown := set(wanted) - PARTS.keys():
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: the parts are {', '.join(PARTS)}")
    return [part for part in PARTS if part in wanted]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="length of each case")
    parser.add_argument("--warm-up", type=float, default=5.0, help="length of each case before anything is measured")
    parser.add_argument("--rounds", type=int, default=1, help="how often each system has its turn")
    parser.add_argument("--only", type=_parts, default=list(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--jars", type=Path, help="a folder of Kafka's jars; fetched with mvn if it is not given")
    options = parser.parse_args()
    jars = options.jars or fetch_jars()
    figures: dict[str, Figures] = {"kafka": Figures(), "tidelog": Figures()}
    others: list[float] = []
    for number in range(options.rounds):
        for name, found in figures.items():
            folder = Path(tempfile.mkdtemp(prefix=f"bench-{name}-"))
            peer: Peer = (
                KafkaPeer(jars, folder, KAFKA_PORTS, BROKERS)
                if name == "kafka"
                else TidelogPeer(folder, TIDELOG_PORTS, BROKERS)
            )
            print(f"round {number + 1}: {peer.label}", flush=True)
            system = System(peer, options.seconds, found)
            try:
                measure(system, options.only, options.warm_up)
            finally:
                peer.down()
                shutil.rmtree(folder, ignore_errors=True)
            others += system.cores_of_others()
    print(table(figures["kafka"], figures["tidelog"]))
    print(
        f"\n{os.cpu_count()} cores, {BROKERS} brokers, {options.rounds} rounds of {options.seconds:g} s a case, "
        f"after {options.warm_up:g} s of each to warm up; "
        f"others used {statistics.mean(others or [0]):.2f} cores meanwhile (at most {max(others or [0]):.2f})."
    )


if __name__ == "__main__":
    main()
