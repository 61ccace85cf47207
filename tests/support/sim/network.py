"""The network: connections that keep their order, delays that do not respect each other, and cuts one way or both.

A connection is TCP's: what is sent arrives once and in order, or the connection breaks. While the way is cut it waits, as
with retransmissions. A process that dies closes its connections, and a machine without power says nothing at all.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from tests.support.sim.machine import Listening, Machine
from tests.support.sim.scheduler import Scheduler
from tests.support.sim.trace import Trace

_RETRANSMIT_MS = 40.0
_FIN = object()


class Network:
    def __init__(self, scheduler: Scheduler, trace: Trace) -> None:
        self.scheduler = scheduler
        self.trace = trace
        self.machines: dict[str, Machine] = {}
        self.cuts: set[tuple[str, str]] = set()
        # While it is busy everything may take this many times longer.
        self.slowness = 1.0

    def delay_ms(self) -> float:
        """Mostly short, sometimes long, so that what is sent later on another connection may well come first."""
        random = self.scheduler.random
        luck = random.random()
        if luck < 0.92:
            return random.uniform(0.05, 1.5) * self.slowness
        return (random.uniform(1.5, 20) if luck < 0.99 else random.uniform(20, 300)) * self.slowness

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self.cuts

    def connect(
        self, owner: Listening, host: str, port: int, opened: Callable[["End"], None], refused: Callable[[], None]
    ) -> "Attempt":
        """One of both is called in a while, unless there is no way; then neither is, until there is one."""
        attempt = Attempt(self, owner, host, port, opened, refused)
        self.scheduler.after(self.delay_ms(), attempt.arrive)
        return attempt


class Attempt:
    """A connection that is being opened; who gives up waiting cancels it."""

    def __init__(
        self,
        network: Network,
        owner: Listening,
        host: str,
        port: int,
        opened: Callable[["End"], None],
        refused: Callable[[], None],
    ) -> None:
        self.is_cancelled = False
        self._network = network
        self._owner = owner
        self._host = host
        self._port = port
        self._opened = opened
        self._refused = refused

    def cancel(self) -> None:
        self.is_cancelled = True

    def arrive(self) -> None:
        network, source = self._network, self._owner.machine.name
        if self.is_cancelled or self._owner.is_dead:
            return
        target = network.machines[self._host]
        if not target.is_on or network.is_cut(source, self._host) or network.is_cut(self._host, source):
            network.scheduler.after(_RETRANSMIT_MS, self.arrive)
            return
        process = target.process
        accept = None if process is None else process.ports.get(self._port)
        if process is None or accept is None:
            network.scheduler.after(network.delay_ms(), lambda: self._tell(self._refused))
            return
        here, there = End(network, self._owner), End(network, process)
        here.peer, there.peer = there, here
        accept(there)
        network.scheduler.after(network.delay_ms(), lambda: self._open(here))

    def _open(self, here: "End") -> None:
        if self.is_cancelled or self._owner.is_dead:
            here.close()
        else:
            self._tell(lambda: self._use(here))

    def _use(self, here: "End") -> None:
        self._opened(here)
        if not here.is_open:
            # It broke before anybody listened.
            here.on_close()

    def _tell(self, call: Callable[[], None]) -> None:
        if not self.is_cancelled:
            self._owner.deliver(call)


class End:
    """One side of a connection."""

    def __init__(self, network: Network, owner: Listening) -> None:
        self.peer: End
        self.is_open = True
        self.on_message: Callable[[Any], object] = lambda _: None
        self.on_close: Callable[[], object] = lambda: None
        self._network = network
        self._owner = owner
        self._sent: deque[tuple[float, Any]] = deque()
        self._last_ms = 0.0
        self._is_moving = False
        owner.ends[self] = None

    def send(self, message: Any) -> None:
        if self.is_open:
            self._put(message)

    def close(self) -> None:
        """What was sent before still arrives."""
        if self.is_open:
            self._shut()
            self._put(_FIN)

    def reset(self) -> None:
        """Broken: nothing of what is under way arrives, and both sides find out."""
        for end in (self, self.peer):
            end._sent.clear()
            end._lose()

    def go_dark(self) -> None:
        """The machine has no power: nothing more comes from here, not even an end."""
        self._sent.clear()
        self._shut()

    def _shut(self) -> None:
        self.is_open = False
        self._owner.ends.pop(self, None)

    def _lose(self) -> None:
        """The owner finds out when it comes to it, after what arrived before."""
        self._owner.deliver(self._on_lost)

    def _on_lost(self) -> None:
        if self.is_open:
            self._shut()
            self.on_close()

    def _put(self, message: Any) -> None:
        self._last_ms = max(self._last_ms, self._network.scheduler.now_ms + self._network.delay_ms())
        self._sent.append((self._last_ms, message))
        if not self._is_moving:
            self._is_moving = True
            self._network.scheduler.at(self._last_ms, self._move)

    def _move(self) -> None:
        self._is_moving = False
        if not self._sent:
            return
        scheduler, peer = self._network.scheduler, self.peer
        source, target = self._owner.machine, peer._owner.machine
        if self._network.is_cut(source.name, target.name) or not target.is_on:
            self._is_moving = True
            scheduler.after(_RETRANSMIT_MS, self._move)
            return
        _, message = self._sent.popleft()
        if peer._owner.is_dead or not peer.is_open:
            self._sent.clear()
            self._lose()
            return
        self._arrive(message)
        if self._sent:
            self._is_moving = True
            scheduler.at(self._sent[0][0], self._move)

    def _arrive(self, message: Any) -> None:
        peer = self.peer
        if message is _FIN:
            peer._lose()
            return
        peer._owner.deliver(peer._take, message)

    def _take(self, message: Any) -> None:
        if self.is_open:
            self.on_message(message)
