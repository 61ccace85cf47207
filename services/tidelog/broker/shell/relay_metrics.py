"""What a broker passes on to coordinators, and what it had to refuse itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.runtime.metric_families import CountedWhenAsked, counter, gauge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

    from tidelog.broker.shell.relay import Relay

_UNDER_WAY = gauge(
    "tidelog_relay_requests_under_way", "Requests that a coordinator has not answered.", ("coordinator",)
)
_BYTES = gauge("tidelog_relay_bytes_under_way", "Bytes of these requests.", ("coordinator",))
_REFUSALS = counter(
    "tidelog_relay_refusals_total",
    "Requests about groups and transactions that were answered here, with an error, and not by a coordinator.",
    ("reason",),
)


class RelayMetrics(CountedWhenAsked):
    def __init__(self, relay: Relay) -> None:
        self._relay = relay

    def collect(self) -> Iterator[Metric]:
        links = [((str(id),), link) for id, link in sorted(self._relay.links.items())]
        yield _UNDER_WAY.by((labels, link.waiting) for labels, link in links)
        yield _BYTES.by((labels, link.waiting_bytes) for labels, link in links)
        yield _REFUSALS.by(((code.name,), count) for code, count in sorted(self._relay.refusals.items()))
