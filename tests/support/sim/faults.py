"""What goes wrong, and when: the seed decides. Everything is mended in the end."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.support.sim.ensemble import SERVERS
from tidelog.kafka.types import BrokerId
from tidelog.zk.znodes import PreferredElectionZnode, ReassignPartitionsZnode

if TYPE_CHECKING:
    from tests.support.sim.world import BrokerHost, Host, World

_PAUSE_MS = (100, 5_000)
_AWAY_MS = (20, 4_000)
_CUT_MS = (100, 5_000)
_FROZEN_MS = (3_200, 6_000)


class Faults:
    """One after the other and often several at a time, from `begin` until `end`."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._is_on = False
        random = world.random
        # Each world has its own weather: how often something happens, and what mostly does.
        self._interval_ms = random.choice((300.0, 700.0, 1_500.0))
        kinds: list[Callable[[], None]] = [
            self._kill_broker,
            self._stop_broker,
            self._cut_power,
            self._pause,
            self._kill_other,
            self._cut_pair,
            self._cut_off,
            self._cut_from_zookeeper,
            self._reset_connections,
            self._slow_down,
            self._expire_session,
            self._depose,
            self._reassign,
            self._elect_preferred,
        ]
        if world.coordinators:
            kinds.append(self._freeze_coordinator)
        self._kinds = kinds
        self._weights = [random.choice((0, 1, 1, 3)) for _ in kinds]
        self._weights[0] = max(self._weights[0], 1)

    def begin(self) -> None:
        self._is_on = True
        self._next()

    def end(self) -> None:
        """Everything is mended: the network, the machines, the processes."""
        world = self._world
        self._is_on = False
        world.network.cuts.clear()
        world.network.slowness = 1.0
        for host in world.hosts:
            host.machine.resume()
        for host in world.hosts:
            self._start_when_possible(host)

    # ---- inside

    def _next(self) -> None:
        if not self._is_on:
            return
        random = self._world.random
        random.choices(self._kinds, self._weights)[0]()
        self._later(random.expovariate(1 / self._interval_ms), self._next)

    def _later(self, delay_ms: float, call: Callable[[], None]) -> None:
        self._world.scheduler.after(delay_ms, call)

    def _start_when_possible(self, host: "Host") -> None:
        """A process that stops is waited for. A machine that lost its power is away until the cluster has noticed."""
        if host.is_up:
            if host.process is not None and host.process.stopping:
                self._later(100, lambda: self._start_when_possible(host))
            return
        if not host.machine.is_on:
            if not self._is_missed(host):
                self._later(100, lambda: self._start_when_possible(host))
                return
            host.machine.is_on = True
        host.start()

    def _is_missed(self, host: "Host") -> bool:
        world = self._world
        if any(session.owner == host.name for session in world.ensemble.sessions.values()):
            return False
        states = [found[0] for one in world.partitions if (found := world.state(one)) is not None]
        return all(host.id not in state.isr or set(state.isr) <= self._dark() for state in states)

    def _dark(self) -> set[int]:
        """Brokers without power."""
        return {host.id for host in self._world.brokers if not host.machine.is_on}

    def _a_broker(self) -> "BrokerHost | None":
        """Nobody is hurt while the cluster has not noticed that a machine is dark: the last copies may be elsewhere."""
        if any(not host.machine.is_on and not self._is_missed(host) for host in self._world.brokers):
            return None
        up = [host for host in self._world.brokers if host.is_up]
        return self._world.random.choice(up) if up else None

    def _duration(self, bounds: tuple[float, float]) -> float:
        low, high = bounds
        return low * float((high / low) ** self._world.random.random())

    def _kill_broker(self) -> None:
        if (host := self._a_broker()) is not None:
            host.kill()
            self._later(self._duration(_AWAY_MS), lambda: self._start_when_possible(host))

    def _stop_broker(self) -> None:
        if (host := self._a_broker()) is not None and not host.machine.is_paused:
            host.stop()
            self._later(self._duration(_AWAY_MS), lambda: self._start_when_possible(host))

    def _cut_power(self) -> None:
        """Seldom of all who are in sync at once: then there is not much to be promised."""
        host = self._a_broker()
        if host is not None and (self._is_spared(host) or self._world.random.random() < 0.02):
            host.cut_power()
            self._world.invariants.on_power_lost(host)
            host.disk.lose_power(self._world.random)
            self._later(self._duration(_AWAY_MS), lambda: self._start_when_possible(host))

    def _is_spared(self, host: "BrokerHost") -> bool:
        """Somebody else has all that it has, and is well."""
        world = self._world
        well = {other.id for other in world.brokers if other.is_up and other is not host}
        states = [found[0] for one in world.partitions if (found := world.state(one)) is not None]
        return all(host.id not in state.isr or well.intersection(state.isr) for state in states)

    def _pause(self) -> None:
        host = self._world.random.choice(self._world.hosts)
        if host.is_up and not host.machine.is_paused:
            self._world.trace.note(host.name, "stands still")
            host.machine.pause()
            self._later(self._duration(_PAUSE_MS), host.machine.resume)

    def _freeze_coordinator(self) -> None:
        """For longer than its session lasts: its shards are another's when it goes on with what lies in its sockets."""
        host = self._world.random.choice(self._world.coordinators)
        if host.is_up and not host.machine.is_paused:
            self._world.trace.note(host.name, "stands still for long")
            host.machine.pause()
            self._later(self._duration(_FROZEN_MS), host.machine.resume)

    def _kill_other(self) -> None:
        """A controller or a coordinator."""
        host = self._world.random.choice([*self._world.controllers, *self._world.coordinators])
        if host.is_up:
            host.kill()
            self._later(self._duration(_AWAY_MS), lambda: self._start_when_possible(host))

    def _cut_pair(self) -> None:
        names = [host.name for host in self._world.hosts]
        one, other = self._world.random.sample(names, 2)
        self._cut([(one, other)])

    def _cut_off(self) -> None:
        """One machine from all others but ZooKeeper."""
        random = self._world.random
        host = random.choice(self._world.hosts)
        self._cut([(host.name, other.name) for other in self._world.hosts if other is not host])

    def _cut_from_zookeeper(self) -> None:
        host = self._world.random.choice(self._world.hosts)
        self._cut([(host.name, server) for server in SERVERS])

    def _cut(self, pairs: list[tuple[str, str]]) -> None:
        """One way or the other, or both."""
        ways = self._world.random.choice(("there", "back", "both"))
        cuts = {pair for pair in pairs if ways != "back"} | {(b, a) for a, b in pairs if ways != "there"}
        self._world.trace.note("net", f"cut {sorted(cuts)}")
        self._world.network.cuts |= cuts

        def mend() -> None:
            self._world.trace.note("net", f"mended {sorted(cuts)}")
            self._world.network.cuts -= cuts

        self._later(self._duration(_CUT_MS), mend)

    def _reset_connections(self) -> None:
        random = self._world.random
        for host in self._world.hosts:
            if host.process is not None and host.is_up:
                for end in tuple(host.process.ends):
                    if random.random() < 0.3:
                        end.reset()

    def _slow_down(self) -> None:
        network, slowness = self._world.network, self._world.random.choice((5.0, 20.0, 60.0))
        self._world.trace.note("net", f"slow {slowness}")
        network.slowness = slowness

        def recover() -> None:
            network.slowness = 1.0

        self._later(self._duration(_CUT_MS), recover)

    def _expire_session(self) -> None:
        sessions = list(self._world.ensemble.sessions)
        if sessions:
            self._world.ensemble.end_session(self._world.random.choice(sessions))

    def _depose(self) -> None:
        """Somebody deletes /controller by hand, while the active one is busy with a death and stands still."""
        world = self._world
        active = next((host for host in world.controllers if host.core is not None and host.core.is_active), None)
        if active is None or active.machine.is_paused:
            return
        self._kill_broker()

        def depose() -> None:
            if active.is_up:
                active.machine.pause()
                self._later(self._duration((200, 2_000)), active.machine.resume)
            world.trace.note("zk", f"/controller is deleted, while {active.name} stands still")
            world.ensemble.delete("/controller")

        self._later(world.random.uniform(0, 40), depose)

    # ---- what people ask for meanwhile

    def _reassign(self) -> None:
        """Other brokers for one partition, in the way of the old tools: a node that the controller takes up."""
        world = self._world
        partition = world.random.choice(world.partitions)
        ids = world.random.sample([host.id for host in world.brokers], world.replication_factor)
        world.ensemble.create(
            ReassignPartitionsZnode.PATH, ReassignPartitionsZnode.encode({partition: list(map(BrokerId, ids))})
        )

    def _elect_preferred(self) -> None:
        self._world.ensemble.create(PreferredElectionZnode.PATH, PreferredElectionZnode.encode(self._world.partitions))
