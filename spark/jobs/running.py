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
_STEP_S = 0.02
# Batches that take longer than this are interrupted, and repeated after the next start. Kubernetes waits for a minute.
_PATIENCE_S = 45.0


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
        errors = _stop_after_batches(queries)
    _look(queries, reporter)
    if errors:
        raise errors[0]


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


def _stop_after_batches(queries: Sequence[StreamingQuery]) -> list[BaseException]:
    """Stop each query as soon as the batch that it is in has ended, and one that is between two batches at once.

    Returns the errors of those that had ended by themselves. One that is stopped may be at the start of its next batch
    already: what that fails with then is no error, and the batch is repeated after the next start.
    """
    deadline = time.monotonic() + _PATIENCE_S
    running = {query: _batches_told(query) for query in queries}
    errors: list[BaseException] = []
    while running:
        for query, before in list(running.items()):
            if not query.isActive:
                errors += [error for error in [query.exception()] if error is not None]
            elif query.status["isTriggerActive"] and _batches_told(query) == before and time.monotonic() < deadline:
                continue
            del running[query]
            query.stop()
        time.sleep(_STEP_S)
    return errors


def _batches_told(query: StreamingQuery) -> int:
    """Grows with every batch that ends; where they follow one another without a pause, nothing else tells of that."""
    told = query.lastProgress
    return -1 if told is None else told.batchId
