"""One run from a seed: a cluster comes up, is written to while things go wrong, and must be whole again afterwards."""

import gc
from collections.abc import Mapping
from dataclasses import dataclass

from tests.support.sim.clients import ClientHost
from tests.support.sim.faults import Faults
from tests.support.sim.members import GroupRules, Member
from tests.support.sim.producers import Producers
from tests.support.sim.trace import InvariantBroken
from tests.support.sim.transactions import TransactionalProducer, TransactionRules
from tests.support.sim.world import World

_CALM_MS = 1_500.0
_FAULTS_MS = 10_000.0
# Requests of a controller to a silent process are given up after ten seconds, and those to ZooKeeper after thirty.
_RECOVERY_MS_MAX = 60_000.0
_LOOK_MS = 500.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a seed. Two runs of one seed have the same checksum."""

    seed: int
    broken: str | None
    checksum: int
    events: int
    acked: int
    lost_partitions: int
    trace: str

    def __str__(self) -> str:
        if self.broken is None:
            return f"seed {self.seed}: {self.events} events, {self.acked} acknowledged, checksum {self.checksum:08x}"
        return f"seed {self.seed}: {self.broken}\n{self.trace}"


def run_seed(
    seed: int, bugs: Mapping[str, object] | None = None, trace_lines: int = 80, *, with_groups: bool = False
) -> Outcome:
    """With groups, two coordinators and their clients are part of the world."""
    gc.collect()
    with World(seed, bugs, coordinators=2 if with_groups else 0) as world:
        broken = None
        try:
            _run_with_groups(world) if with_groups else _run(world)
        except InvariantBroken as error:
            broken = str(error)
        trace = world.trace.tail(trace_lines) if broken else ""
        invariants = world.invariants
        return Outcome(
            seed,
            broken,
            world.trace.checksum,
            world.scheduler.steps,
            invariants.acked,
            invariants.lost_partitions,
            trace,
        )


def _run(world: World) -> None:
    world.start()
    world.run_until(_CALM_MS)
    producers, faults = Producers(world), Faults(world)
    faults.begin()
    world.run_until(_CALM_MS + _FAULTS_MS)
    faults.end()
    world.run_until(world.scheduler.now_ms + _LOOK_MS)
    producers.is_on = False
    until_ms = world.scheduler.now_ms + _RECOVERY_MS_MAX
    while lacking := world.invariants.lacking():
        if world.scheduler.now_ms >= until_ms:
            raise InvariantBroken(f"RECOVERY: {'; '.join(lacking)}")
        world.run_until(world.scheduler.now_ms + _LOOK_MS)


def _run_with_groups(world: World) -> None:
    rules, transactions = GroupRules(world), TransactionRules(world)
    clients = ClientHost(world)
    world.clients.append(clients)
    for number in range(world.random.randint(2, 4)):
        clients.add(Member(world, rules, number).live)
    for number in range(2):
        clients.add(TransactionalProducer(world, transactions, number).live)
    world.start()
    world.run_until(_CALM_MS)
    clients.start()
    world.run_until(2 * _CALM_MS)
    faults = Faults(world)
    faults.begin()
    world.run_until(2 * _CALM_MS + _FAULTS_MS)
    faults.end()
    world.run_until(world.scheduler.now_ms + 4 * _CALM_MS)
    clients.stop()
    until_ms = world.scheduler.now_ms + _RECOVERY_MS_MAX
    while (lacking := world.invariants.lacking()) or not transactions.is_stable():
        if world.scheduler.now_ms >= until_ms:
            # While a transaction is open its coordinator goes on writing, and replicas are seen on the way.
            if not transactions.is_stable():
                raise InvariantBroken("STABLE: a transaction is still open")
            raise InvariantBroken(f"RECOVERY: {'; '.join(lacking)}")
        world.run_until(world.scheduler.now_ms + _LOOK_MS)
    transactions.check()
    world.invariants.acked += rules.commits + transactions.acked
    world.trace.note(
        "k0", f"generation {rules.generations}, {rules.commits} commits, {transactions.acked} transactions"
    )
    if world.failure is not None:
        raise InvariantBroken(world.failure)
