"""What one task does: fetch its range of offsets, one answer ahead of the one that is being turned into Arrow."""

import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark_tidelog.batches import OpenBatch, open_batches
from pyspark_tidelog.fetch_call import Fetched, fetch
from pyspark_tidelog.losses import loss_error
from pyspark_tidelog.options import ReaderOptions
from pyspark_tidelog.ranges import OffsetRange
from pyspark_tidelog.session import Session, session_for
from tidelog.client.records import TopicPartition

if TYPE_CHECKING:
    from concurrent.futures import Future

    import pyarrow as pa

_log = logging.getLogger(__name__)
# Small ranges, as most micro-batches have, need not pay for a large answer.
_FIRST_BYTES = 262_144
# Records are copied several times on their way to the JVM: what is in the processor's cache by then is copied faster, while
# an Arrow batch has its price however small it is. Half of the second cache of usual cores.
_PORTION_BYTES = 524_288
# How many ranges of a task are asked for at once.
_RANGES_AHEAD = 8


def read_ranges(
    ranges: Sequence[OffsetRange], options: ReaderOptions, columns: tuple[str, ...]
) -> "Iterator[pa.RecordBatch]":
    """Every visible record of the ranges, one after the other, an Arrow batch for each portion of a broker's answer."""
    session = session_for(options.settings)
    waiting = deque(ranges)
    begun: deque[tuple[OffsetRange, Future[Fetched]]] = deque()
    while waiting or begun:
        while waiting and len(begun) < _RANGES_AHEAD:
            begun.append((waiting[0], _begin(session, waiting.popleft(), options)))
        wanted, first = begun.popleft()
        yield from _read_range(session, wanted, first, options, columns)


def _begin(session: Session, wanted: OffsetRange, options: ReaderOptions) -> "Future[Fetched]":
    partition = TopicPartition(wanted.topic, wanted.partition)
    return session.begin(fetch(session, partition, wanted.start, options.poll_timeout_ms, _FIRST_BYTES))


def _read_range(
    session: Session,
    wanted: OffsetRange,
    first: "Future[Fetched]",
    options: ReaderOptions,
    columns: tuple[str, ...],
) -> "Iterator[pa.RecordBatch]":
    from pyspark_tidelog.arrow import to_arrow

    config = session.client.config
    is_committed = config.isolation_level == "read_committed"
    for answer, start in _answers(session, wanted, first, options):
        aborted = answer.aborted if is_committed else None
        opened = open_batches(answer.records, start, wanted.end, aborted, check_crcs=config.check_crcs)
        for portion in portions(opened):
            yield to_arrow(portion, wanted.topic, wanted.partition, columns)


def portions(batches: Iterable[OpenBatch]) -> Iterator[list[OpenBatch]]:
    """Batches in their order, each for one Arrow batch."""
    portion: list[OpenBatch] = []
    size = 0
    for batch in batches:
        portion.append(batch)
        size += batch.size
        if size >= _PORTION_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _answers(
    session: Session, wanted: OffsetRange, under_way: "Future[Fetched]", options: ReaderOptions
) -> Iterator[tuple[Fetched, int]]:
    """Answers with records, and the offset for which each was asked; the first one is under way."""
    partition, at = TopicPartition(wanted.topic, wanted.partition), wanted.start
    patience_s = options.poll_timeout_ms / 1000
    progress_at = time.monotonic()
    while at < wanted.end:
        answer, asked = under_way.result(), at
        if answer.is_out_of_range:
            at = _after_gap(session, partition, at, wanted.end, options)
        elif answer.next_offset is not None:
            at = answer.next_offset
        if at > asked:
            progress_at = time.monotonic()
        elif time.monotonic() - progress_at > patience_s:
            raise TimeoutError(
                f"{partition}: no records from offset {at} on within {options.poll_timeout_ms} ms, and the range ends "
                f"at {wanted.end}; kafkaConsumer.pollTimeoutMs says how long to wait."
            )
        if at < wanted.end:
            under_way = session.begin(fetch(session, partition, at, options.poll_timeout_ms))
        if answer.records:
            yield answer, asked


def _after_gap(session: Session, partition: TopicPartition, at: int, end: int, options: ReaderOptions) -> int:
    """Retention was faster than the task: the first offset that is left, or the end of the range."""
    start = session.run(session.client.beginning_offsets([partition]))[partition]
    after = min(start, end) if start > at else end
    loss = f"{partition} lost offsets {at} to {after - 1} while they were read; its log begins at {start} now"
    if options.fail_on_data_loss:
        raise loss_error([loss])
    _log.warning("failOnDataLoss is false, going on without what is gone: %s", loss)
    return after
