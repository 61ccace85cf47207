"""The bounds of a listener: what one connection may pile up, and how many connections there may be."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

UNLIMITED = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What one connection may take. Past a bound its requests are left in the socket until there is room again."""

    # socket.request.max.bytes; a larger frame closes the connection.
    request_bytes_max: int = 104_857_600
    # Kafka handles one request of a connection at a time. More than clients have under way (5 for a producer), and few
    # enough that requests that wait cost nothing worth mentioning.
    unanswered_max: int = 100
    unsent_bytes_max: int = 1024 * 1024
    # connections.max.idle.ms
    idle_ms_max: int = 600_000
    # Kafka clients need answers in the order of their requests. A peer that has many clients behind it goes by
    # correlation ids instead, so that one slow answer does not hold up the others.
    answers_in_order: bool = True
    # socket.send.buffer.bytes and socket.receive.buffer.bytes; -1 leaves them to the kernel, which adapts them.
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1


@dataclass(slots=True)
class Admission:
    """Counts connections, one for all listeners of a process, and says whether one more may come in."""

    # max.connections, max.connections.per.ip and max.connections.per.ip.overrides
    connections_max: int = UNLIMITED
    per_ip_max: int = UNLIMITED
    per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    _total: int = 0
    _by_ip: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self._total

    def admit(self, ip: str) -> bool:
        if self._total >= self.connections_max or self._by_ip[ip] >= self.per_ip_overrides.get(ip, self.per_ip_max):
            return False
        self._total += 1
        self._by_ip[ip] += 1
        return True

    def release(self, ip: str) -> None:
        self._total -= 1
        self._by_ip[ip] -= 1
        if not self._by_ip[ip]:
            del self._by_ip[ip]
