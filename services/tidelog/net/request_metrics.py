"""What requests tell Prometheus: under the names that dashboards for Kafka know, and as true histograms beside them.

Kafka tells quantiles. They are those of the last minute or two here, since quantiles of everything since the start tell
nothing: what was counted is remembered at every scrape, and taken off what is counted later.
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING

from tidelog.kafka.errors import KafkaCode
from tidelog.runtime.metric_families import CountedWhenAsked, Distribution, counter, histogram, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from prometheus_client import Metric

    from tidelog.net.request_counts import ApiCounts, RequestCounts, Tally
    from tidelog.runtime.clock import Clock

_REQUESTS = counter("kafka_network_requestmetrics_requests_total", "Requests that were done.", ("request", "version"))
_ERRORS = counter(
    "kafka_network_requestmetrics_errors_total",
    "Error codes in answers, NONE for success; an answer has one for each part of its request.",
    ("request", "error"),
)
_REQUEST_BYTES = summary("kafka_network_requestmetrics_requestbytes", "Bytes of requests.", ("request",))
_ANSWER_BYTES = summary("tidelog_response_bytes", "Bytes of answers.", ("request",))
_SECONDS = histogram(
    "tidelog_request_seconds",
    "How long requests took, by phase, of those that had the phase at all.",
    ("request", "phase"),
)
# By phase, Kafka's name for it.
_TIMES = {
    "total": summary(
        "kafka_network_requestmetrics_totaltimems",
        "From when a request was read to when the last byte of its answer left, in milliseconds.",
        ("request",),
    ),
    "queue": summary(
        "kafka_network_requestmetrics_requestqueuetimems",
        "Until a request was taken up, because its connection was held or others came with it.",
        ("request",),
    ),
    "local": summary(
        "kafka_network_requestmetrics_localtimems", "Until a request was answered or began to wait.", ("request",)
    ),
    "remote": summary(
        "kafka_network_requestmetrics_remotetimems",
        "While a request waited for replicas, for data or for another process.",
        ("request",),
    ),
    "throttle": summary(
        "kafka_network_requestmetrics_throttletimems", "For how long clients were told to wait.", ("request",)
    ),
    "answer_queue": summary(
        "kafka_network_requestmetrics_responsequeuetimems",
        "While an answer waited for those to earlier requests of its connection.",
        ("request",),
    ),
    "send": summary(
        "kafka_network_requestmetrics_responsesendtimems",
        "Until the socket had taken the last byte of an answer.",
        ("request",),
    ),
}
_QUANTILES = (0.5, 0.95, 0.99, 0.999)
_NS_PER_MS = 1e6
_NS_PER_S = 1e9
# Everything that is told costs the event loop time at every scrape: histograms are for these phases only, with bounds
# by four, given by their bits, from 16 microseconds, which a small request takes, to 17 seconds.
_IN_HISTOGRAMS = ("total", "local", "remote")
_BOUNDS_BITS = range(14, 35, 2)
_RECENT_MS = 60_000
_REMEMBER_EVERY_MS = 10_000


class RequestMetrics(CountedWhenAsked):
    """Reads the plain numbers that requests leave behind."""

    def __init__(self, counts: RequestCounts, clock: Clock) -> None:
        self._counts = counts
        self._recent = _Recent(clock.monotonic_ms)

    def collect(self) -> Iterator[Metric]:
        asked = [api for api in self._by_name() if api.total.count]
        yield _REQUESTS.by(
            ((api.name, str(version)), count) for api in asked for version, count in sorted(api.requests.items())
        )
        yield _ERRORS.by(((api.name, _error(code)), count) for api in asked for code, count in api.errors.items())
        yield _REQUEST_BYTES.by(((api.name,), Distribution(api.total.count, api.request_bytes, {})) for api in asked)
        yield _ANSWER_BYTES.by(((api.name,), Distribution(api.total.count, api.answer_bytes, {})) for api in asked)
        yield _SECONDS.by(
            ((api.name, phase), _in_seconds(tally))
            for api in asked
            for phase, tally in _phases(api).items()
            if phase in _IN_HISTOGRAMS and tally.count
        )
        since = self._recent.since({api.name: _counts_of(api) for api in asked})
        for phase, family in _TIMES.items():
            yield family.by(((api.name,), _in_ms(api, phase, since[api.name][phase])) for api in asked)

    def _by_name(self) -> Iterator[ApiCounts]:
        """Every API, and also each kind of request that is told apart; the API is then all kinds together."""
        for api in self._counts.apis.values():
            yield api.together()
            yield from api.kinds.values()


class _Recent:
    """What was counted lately, from what was counted in all at earlier scrapes."""

    def __init__(self, now_ms: Callable[[], float]) -> None:
        self._now_ms = now_ms
        self._remembered: deque[tuple[float, Mapping[str, Mapping[str, Sequence[int]]]]] = deque()

    def since(self, counts: Mapping[str, dict[str, list[int]]]) -> dict[str, dict[str, list[int]]]:
        """By API and phase what came after the latest of those that are a minute old, or since the start."""
        now_ms = self._now_ms()
        remembered = self._remembered
        while len(remembered) > 1 and now_ms - remembered[1][0] >= _RECENT_MS:
            remembered.popleft()
        is_old = bool(remembered) and now_ms - remembered[0][0] >= _RECENT_MS
        before: Mapping[str, Mapping[str, Sequence[int]]] = remembered[0][1] if is_old else {}
        if not remembered or now_ms - remembered[-1][0] >= _REMEMBER_EVERY_MS:
            remembered.append((now_ms, counts))
        return {
            name: {phase: _difference(now, before.get(name, {}).get(phase)) for phase, now in phases.items()}
            for name, phases in counts.items()
        }


def _difference(now: list[int], before: Sequence[int] | None) -> list[int]:
    return now if before is None else [new - old for new, old in zip(now, before, strict=True)]


def _phases(api: ApiCounts) -> dict[str, Tally]:
    return {phase: getattr(api, phase) for phase in _TIMES}


def _counts_of(api: ApiCounts) -> dict[str, list[int]]:
    """By phase, with the requests that did not have it as those for which it took no time."""
    answers = api.total.count
    counted = {}
    for phase, tally in _phases(api).items():
        counts = counted[phase] = list(tally.counts)
        counts[0] += answers - tally.count
    return counted


def _in_ms(api: ApiCounts, phase: str, recent: list[int]) -> Distribution:
    tally: Tally = getattr(api, phase)
    is_told = any(recent) and tally.sum
    places = {part: quantile(recent, part) / _NS_PER_MS for part in _QUANTILES} if is_told else {}
    return Distribution(api.total.count, tally.sum / _NS_PER_MS, places)


def _in_seconds(tally: Tally) -> Distribution:
    places = {2**bits / _NS_PER_S: sum(tally.counts[: bits + 1]) for bits in _BOUNDS_BITS}
    places[math.inf] = tally.count
    return Distribution(tally.count, tally.sum / _NS_PER_S, places)


def quantile(counts: Sequence[int], part: float) -> float:
    """The value that so large a part of all values is at or below, as far as their numbers of bits tell it."""
    left = part * sum(counts)
    for bits, count in enumerate(counts):
        if count and left <= count:
            return 2 ** (bits - 1) * (1 + left / count) if bits else 0.0
        left -= count
    return 0.0


def _error(code: int) -> str:
    try:
        return KafkaCode(code).name
    except ValueError:
        return str(code)
