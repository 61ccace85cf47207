"""Runs queries until they end, fail, or somebody asks to stop; then each ends after the batch that it is in."""

import signal
import time
from argparse import Namespace
from collections.abc import Sequence
from types import FrameType
from typing import Self

from pyspark.sql.streaming.query import StreamingQuery

from jobs.progress import Reporter

_LOOK_S = 0.5
# A batch that takes longer than this is interrupted; it is repeated after the next start.
_PATIENCE_S = 60.0


class Stop:
    """Becomes true with SIGTERM or SIGINT; afterwards these mean again what they meant before."""

    def __init__(self) -> None:
        self.is_asked = False
        self._before = {number: signal.signal(number, self._ask) for number in (signal.SIGTERM, signal.SIGINT)}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self.is_asked = True


def run(queries: Sequence[StreamingQuery], arguments: Namespace) -> None:
    """Wait for the queries and tell of them. Raises what a query failed with."""
    reporter = Reporter(arguments.metrics_port)
    with Stop() as stop:
        _watch(queries, reporter, arguments.seconds, stop)
        for query in queries:
            _stop_after_batch(query)
    _look(queries, reporter)
    for query in queries:
        if (error := query.exception()) is not None:
            raise error


def _watch(queries: Sequence[StreamingQuery], reporter: Reporter, seconds: float, stop: Stop) -> None:
    """Tell of the queries until all have ended, one has failed, the time is over, or somebody asks to stop."""
    until = time.monotonic() + seconds if seconds else float("inf")
    while any(query.isActive for query in queries) and not stop.is_asked and time.monotonic() < until:
        _look(queries, reporter)
        if any(_failed(query) for query in queries):
            break
        time.sleep(_LOOK_S)


def _look(queries: Sequence[StreamingQuery], reporter: Reporter) -> None:
    for query in queries:
        reporter.look(query)


def _failed(query: StreamingQuery) -> bool:
    return not query.isActive and query.exception() is not None


def _stop_after_batch(query: StreamingQuery) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
        time.sleep(0.05)
    query.stop()
