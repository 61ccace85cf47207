"""What listeners tell Prometheus: connections, what waits, and how much of its time the event loop has nothing to do."""

from __future__ import annotations

from time import thread_time
from typing import TYPE_CHECKING

from tidelog.runtime.metric_families import CountedWhenAsked, counter, gauge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prometheus_client import Metric

    from tidelog.net.awaited import AwaitedRequests
    from tidelog.net.listener import Listener
    from tidelog.runtime.clock import Clock

_CONNECTIONS = gauge("kafka_server_socket_server_metrics_connection_count", "Connections open.", ("listener",))
_ACCEPTED = counter(
    "kafka_server_socket_server_metrics_connection_creation_total", "Connections accepted.", ("listener",)
)
_CLOSED = counter("kafka_server_socket_server_metrics_connection_close_total", "Connections closed.", ("listener",))
_TURNED_AWAY = counter(
    "tidelog_connections_turned_away_total", "Connections refused: too many, or too fast.", ("listener",)
)
_UNSENT = gauge("tidelog_unsent_bytes", "Bytes of answers that clients have not taken yet.", ("listener",))
_QUEUE = gauge(
    "kafka_network_requestchannel_requestqueuesize", "Requests that wait because too many others are under way."
)
_RUNNING = gauge("tidelog_awaited_requests", "Requests under way that are awaited; queued.max.requests bounds them.")
_HANDLER_IDLE = gauge(
    "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
    "The part of its time, 0 to 1, that the event loop's thread was idle, since the last scrape.",
)
_NETWORK_IDLE = gauge(
    "kafka_network_socketserver_networkprocessoravgidle_percent", "The same: one thread does both kinds of work."
)
# Two scrapes that follow each other faster are told the same part.
_IDLE_OVER_MS_MIN = 1000.0


class ListenerMetrics(CountedWhenAsked):
    """Asks the listeners. It is made, and asked, in the event loop's thread."""

    def __init__(self, listeners: Sequence[Listener], awaited: AwaitedRequests, clock: Clock) -> None:
        self._listeners = listeners
        self._awaited = awaited
        self._clock = clock
        self._since_ms, self._cpu_s, self._idle = clock.monotonic_ms(), thread_time(), 1.0

    def collect(self) -> Iterator[Metric]:
        named = [((listener.endpoint.listener,), listener) for listener in self._listeners]
        yield _CONNECTIONS.by((labels, listener.connections) for labels, listener in named)
        yield _ACCEPTED.by((labels, listener.accepted) for labels, listener in named)
        yield _CLOSED.by((labels, listener.closed) for labels, listener in named)
        yield _TURNED_AWAY.by((labels, listener.turned_away) for labels, listener in named)
        yield _UNSENT.by((labels, listener.unsent_bytes) for labels, listener in named)
        yield _QUEUE.of(self._awaited.waiting)
        yield _RUNNING.of(self._awaited.running)
        idle = self._idle_part()
        yield _HANDLER_IDLE.of(idle)
        yield _NETWORK_IDLE.of(idle)

    def _idle_part(self) -> float:
        now_ms, cpu_s = self._clock.monotonic_ms(), thread_time()
        passed_ms = now_ms - self._since_ms
        if passed_ms >= _IDLE_OVER_MS_MIN:
            self._idle = max(0.0, 1 - (cpu_s - self._cpu_s) * 1000 / passed_ms)
            self._since_ms, self._cpu_s = now_ms, cpu_s
        return self._idle
