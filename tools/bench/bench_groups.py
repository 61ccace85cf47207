"""What groups cost: joins, commits, heartbeats of many groups, and the death of a coordinator, as one table.

    python -m tools.bench.bench_groups [--rounds 3] [--seconds 5] [--members 100] [--groups 1000] [--brokers 3]

Each round starts a cluster of its own. Joins of ten and commits are those of stock consumers (librdkafka); the crowds of
members and groups are requests made by hand, so that the machine measures the servers and not the clients. No group waits
for an initial delay. A killed coordinator counts as replaced when the heartbeats of all groups are answered again, those
of its groups by the other one, in the same generation.
"""

import argparse
import asyncio
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tidelog.kafka.errors import KafkaCode
from tools.bench.group_cases import commit_latencies, join_seconds
from tools.bench.raw_members import RawMember
from tools.bench.tidelog_peer import TidelogPeer

PORT_BASE = 28_100
PARTITIONS = 20
HEARTBEAT_S = 3.0
GIVE_UP_S = 120.0
# So many are asked at once; more of them would only wait in line.
AT_ONCE = 50
MUST = {"join": "<= 0.8 x Kafka", "commits": ">= 1.2 x Kafka", "failover": "<= 2 s"}


class Figures:
    """What the rounds brought, by measure."""

    def __init__(self) -> None:
        self.values: dict[tuple[str, str, str], list[float]] = {}

    def add(self, name: str, unit: str, value: float, must: str = "") -> None:
        self.values.setdefault((name, unit, must), []).append(value)
        print(f"  {name}: {value:.3g} {unit}", file=sys.stderr, flush=True)

    def table(self) -> str:
        lines = ["| measure | unit | median | min | max | must be |", "|---|---|---|---|---|---|"]
        for (name, unit, must), values in self.values.items():
            told = (statistics.median(values), min(values), max(values))
            lines.append(f"| {name} | {unit} | " + " | ".join(f"{each:.3g}" for each in told) + f" | {must} |")
        return "\n".join(lines)


class Round:
    def __init__(self, peer: TidelogPeer, options: argparse.Namespace, figures: Figures) -> None:
        self._peer = peer
        self._options = options
        self._figures = figures
        self._config: dict[str, Any] = {
            "bootstrap.servers": peer.bootstrap,
            "broker.address.family": "v4",
            "log_level": 2,
        }
        self._pids: dict[str, int] = {}

    def run(self) -> None:
        self._peer.up()
        self._pids = self._peer.pids()
        admin = AdminClient(self._config)
        replicas = min(3, self._options.brokers)
        admin.create_topics([NewTopic("bench", PARTITIONS, replicas)])["bench"].result(GIVE_UP_S)
        self._stock_clients()
        asyncio.run(self._crowds())

    def _stock_clients(self) -> None:
        self._figures.add("first join ever, of 1, with the topic made", "s", self._joined(1))
        self._figures.add("join of 1", "s", self._joined(1))
        self._figures.add("group of 10 joins", "s", self._joined(10), MUST["join"])
        latencies = sorted(commit_latencies(self._config, "bench", self._options.seconds))
        self._figures.add("sync commits of one consumer", "1/s", len(latencies) / sum(latencies), MUST["commits"])
        self._figures.add("&nbsp;&nbsp;p99", "ms", latencies[len(latencies) * 99 // 100] * 1000)

    def _joined(self, members: int) -> float:
        return join_seconds(self._config, "bench", PARTITIONS, members)

    async def _crowds(self) -> None:
        await self._join_of_many(self._options.members)
        async with self._groups(self._options.groups) as groups:
            await self._heartbeats(groups)
            await self._failover(groups)

    async def _join_of_many(self, count: int) -> None:
        """All at once; done when they are one generation."""
        members = [RawMember(self._peer.bootstrap, "bench-crowd") for _ in range(count)]
        begun = time.perf_counter()

        async def belong(member: RawMember) -> None:
            await member.join()
            await member.stay()

        tasks = [asyncio.create_task(belong(member)) for member in members]
        while not _is_one_generation(members):
            assert time.perf_counter() - begun < GIVE_UP_S, "the crowd did not settle"
            await asyncio.sleep(0.01)
        self._figures.add(f"join of {count}, all at once", "s", time.perf_counter() - begun)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for member in members:
            member.close()

    @asynccontextmanager
    async def _groups(self, count: int) -> AsyncIterator[list[RawMember]]:
        """Groups of one member each."""
        groups = [RawMember(self._peer.bootstrap, f"bench-group-{number}") for number in range(count)]
        for first in range(0, count, AT_ONCE):
            await asyncio.gather(*(group.join() for group in groups[first : first + AT_ONCE]))
        yield groups
        for group in groups:
            group.close()

    async def _heartbeats(self, groups: list[RawMember]) -> None:
        """Every group one each three seconds, evenly spread, as consumers do by default."""
        before = self._cpu_by_role()
        begun = time.perf_counter()
        sent = 0
        while (passed := time.perf_counter() - begun) < self._options.seconds:
            due = int(passed / HEARTBEAT_S * len(groups)) - sent
            chosen = [groups[(sent + number) % len(groups)] for number in range(due)]
            codes = await asyncio.gather(*(group.heartbeat() for group in chosen))
            assert all(code is KafkaCode.NONE for code in codes), codes
            sent += due
            await asyncio.sleep(0.01)
        seconds = time.perf_counter() - begun
        for role, cpu in self._cpu_by_role().items():
            used_ms = (cpu - before[role]) * 1000 / seconds
            self._figures.add(f"{len(groups)} groups with heartbeats, CPU of all {role}s", "ms/s", used_ms)

    def _cpu_by_role(self) -> dict[str, float]:
        spent = {"group-coordinator": 0.0, "broker": 0.0}
        for name, pid in self._pids.items():
            role = name.rpartition("-")[0]
            if role in spent:
                spent[role] += sum(psutil.Process(pid).cpu_times()[:2])
        return spent

    async def _failover(self, groups: list[RawMember]) -> None:
        generations = [group.generation for group in groups]
        victim = next(pid for name, pid in self._pids.items() if name.startswith("group-coordinator"))
        begun = time.perf_counter()
        os.kill(victim, 9)
        codes = await asyncio.gather(*(group.heartbeat() for group in groups))
        took = time.perf_counter() - begun
        assert all(code is KafkaCode.NONE for code in codes), "a group lost its generation"
        assert [group.generation for group in groups] == generations
        name = f"SIGKILL of a coordinator until all of {len(groups)} groups are served"
        self._figures.add(name, "s", took, MUST["failover"])


def _is_one_generation(members: list[RawMember]) -> bool:
    settled = all(member.is_settled for member in members)
    return (
        settled
        and len({member.generation for member in members}) == 1
        and max(m.members for m in members) == len(members)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long to commit, and to send heartbeats")
    parser.add_argument("--members", type=int, default=100, help="of the crowd that joins one group")
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--brokers", type=int, default=3)
    options = parser.parse_args()
    figures = Figures()
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
        folder = Path(tempfile.mkdtemp(prefix="bench-groups-"))
        peer = TidelogPeer(folder, PORT_BASE, options.brokers)
        try:
            Round(peer, options, figures).run()
        finally:
            peer.down()
            shutil.rmtree(folder, ignore_errors=True)
    print(figures.table())
    print(
        f"\n{os.cpu_count()} cores, {options.brokers} brokers, {options.rounds} rounds, load {os.getloadavg()[0]:.1f}."
    )


if __name__ == "__main__":
    main()
