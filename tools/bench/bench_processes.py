"""Start-up time, memory and failover of the processes, and what many partitions cost, as one table.

    python -m tools.bench.bench_processes [--rounds 5] [--only processes|partitions]

Each round starts a whole cluster of nine processes with `tidelog up --detach` in a fresh directory, reads the memory of
every process, kills the active controller and then a broker, and takes the cluster down. Times end when the thing waited
for was *seen from outside*: every process answers /readyz with 200; the metadata process follows another controller; every
process that answers for the cluster (the two brokers that are left, both coordinators, the metadata process) has lost the
broker. Then the same with a cluster that gets two thousand partitions (see many_partitions.py). The first round warms the
file caches and is left out.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc.aio
import psutil

from tidelog.rpc import broker_pb2_grpc, group_coordinator_pb2_grpc, metadata_pb2_grpc, types_pb2
from tools.bench.many_partitions import ManyPartitions

STUBS: dict[str, Callable[[grpc.aio.Channel], Any]] = {
    "broker": broker_pb2_grpc.BrokerStub,
    "group-coordinator": group_coordinator_pb2_grpc.GroupCoordinatorStub,
    "metadata": metadata_pb2_grpc.MetadataStub,
}
PORT_BASE = 21_000
GIVE_UP_S = 60.0
SETTLE_S = 3.0  # until start-up is over for the caches and the collector, and memory is "idle"


@dataclass
class Figures:
    """What the rounds brought, by name."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    megabytes: dict[str, list[float]] = field(default_factory=dict)

    def add_seconds(self, name: str, value: float) -> None:
        self.seconds.setdefault(name, []).append(value)


class Cluster:
    """One cluster in a directory of its own, through the command that people use."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self.processes: list[dict[str, Any]] = []

    def up(self) -> float:
        begun = time.monotonic()
        answer = self._run("up", "--detach", "--json", "--port-base", str(PORT_BASE))
        took = time.monotonic() - begun
        self.processes = json.loads(answer)["processes"]
        return took

    def start(self, role: str, id: int) -> None:
        self._run("start", role, str(id), "--no-wait")

    def down(self) -> None:
        self._run("down")

    def of(self, role: str) -> list[dict[str, Any]]:
        return [process for process in self.processes if process["role"] == role]

    def _run(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "tidelog", *arguments, "--data-dir", str(self._data_dir)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


async def controller_failover(cluster: Cluster) -> float:
    """From SIGKILL of the active controller until the metadata process follows the next one."""
    active = next(process for process in cluster.of("controller") if process.get("active"))
    metadata = cluster.of("metadata")[0]
    async with grpc.aio.insecure_channel(metadata["grpc"]) as channel:
        stub = STUBS["metadata"](channel)
        before = (await describe(stub)).controller_epoch
        begun = kill(active)
        while (await describe(stub)).controller_epoch == before:
            give_up_after(begun)
        return time.monotonic() - begun


async def broker_loss(cluster: Cluster) -> float:
    """From SIGKILL of a broker until nobody who answers for the cluster names it any more."""
    victim, *others = cluster.of("broker")
    asked = [*others, *cluster.of("group-coordinator"), *cluster.of("metadata")]
    channels = [grpc.aio.insecure_channel(process["grpc"]) for process in asked]
    stubs = [STUBS[process["role"]](channel) for process, channel in zip(asked, channels, strict=True)]
    for stub in stubs:
        assert victim["id"] in {broker.id for broker in (await describe(stub)).brokers}
    begun = kill(victim)
    for stub in stubs:
        while victim["id"] in {broker.id for broker in (await describe(stub)).brokers}:
            give_up_after(begun)
    took = time.monotonic() - begun
    for channel in channels:
        await channel.close()
    return took


async def describe(stub: Any) -> types_pb2.ClusterMetadata:
    answer: types_pb2.ClusterMetadata = await stub.DescribeCluster(types_pb2.DescribeClusterRequest(), timeout=5)
    return answer


def kill(process: dict[str, Any]) -> float:
    os.kill(process["pid"], 9)
    return time.monotonic()


def give_up_after(begun: float) -> None:
    if time.monotonic() - begun > GIVE_UP_S:
        raise SystemExit(f"nothing changed within {GIVE_UP_S:g} s")


def many_partitions(figures: Figures, data_dir: Path) -> None:
    cluster = Cluster(data_dir)
    try:
        cluster.up()
        ManyPartitions(cluster, figures.add_seconds).measure()
    finally:
        cluster.down()


async def processes(figures: Figures, data_dir: Path) -> None:
    cluster = Cluster(data_dir)
    try:
        figures.add_seconds("`tidelog up --detach` until all nine processes are ready", cluster.up())
        await asyncio.sleep(SETTLE_S)
        for process in cluster.processes:
            resident = psutil.Process(process["pid"]).memory_info().rss / 1e6
            figures.megabytes.setdefault(process["role"], []).append(resident)
        figures.add_seconds("SIGKILL of the active controller to a new active one", await controller_failover(cluster))
        figures.add_seconds("SIGKILL of a broker until every metadata answer has lost it", await broker_loss(cluster))
    finally:
        cluster.down()


def report(figures: Figures, rounds: int) -> None:
    print(
        f"\n{rounds} rounds, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}\n"
    )
    print("| measure | median | min | max |\n|---|---|---|---|")
    for name, values in figures.seconds.items():
        print(f"| {name} | {statistics.median(values):.2f} s | {min(values):.2f} s | {max(values):.2f} s |")
    for role, values in figures.megabytes.items():
        print(
            f"| RSS of an idle {role} | {statistics.median(values):.0f} MB | {min(values):.0f} MB | {max(values):.0f} MB |"
        )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("processes", "partitions"))
    given = parser.parse_args()
    rounds, figures = given.rounds, Figures()
    for number in range(rounds + 1):
        print(f"round {number} of {rounds}{' (warm-up, not counted)' if number == 0 else ''}", file=sys.stderr)
        counted = figures if number else Figures()
        with tempfile.TemporaryDirectory(prefix="tidelog-bench-", ignore_cleanup_errors=True) as folder:
            if given.only != "partitions":
                await processes(counted, Path(folder) / "processes")
            if given.only != "processes":
                many_partitions(counted, Path(folder) / "partitions")
    report(figures, rounds)


if __name__ == "__main__":
    asyncio.run(main())
