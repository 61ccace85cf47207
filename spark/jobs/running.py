"""Runs queries until they end, fail, or somebody asks to stop; then each ends after the batch that it is in."""

import signal
import time
from argparse import Namespace
from collections.abc import Sequence
from types import FrameType
from typing import Self

from pyspark.sql.streaming.query import StreamingQuery

from jobs.progress import Reporter
from pyspark_tidelog.ending import end

_LOOK_S = 0.5
_STEP_S = 0.02
# A query that is seen idle once may be between a batch with data and the one that only moves its state on.
_IDLE_LOOKS = 2
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
    """Stop each query when it is between two batches. Returns the errors of those that had ended by themselves."""
    end()
    deadline = time.monotonic() + _PATIENCE_S
    idle_looks = dict.fromkeys(queries, 0)
    errors: list[BaseException] = []
    while idle_looks:
        for query in list(idle_looks):
            is_over = not query.isActive
            if is_over and (error := query.exception()) is not None:
                errors.append(error)
            idle_looks[query] = 0 if query.status["isTriggerActive"] else idle_looks[query] + 1
            is_between = idle_looks[query] >= _IDLE_LOOKS
            if is_over or is_between or time.monotonic() > deadline:
                del idle_looks[query]
                query.stop()
                if not is_over:
                    how = "after its batch" if is_between else "in a batch, which is repeated after the next start"
                    print(f"{query.name or query.id}: stopped {how}", flush=True)
        time.sleep(_STEP_S)
    return errors
