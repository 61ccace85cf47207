"""What one task of a sink does: send its rows, in a transaction that is committed once for each batch, or just so."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from pyspark_tidelog.errors import ChangedBatchError
from pyspark_tidelog.markers import connection_of, marker, written_by
from pyspark_tidelog.rows import Row
from pyspark_tidelog.session import session_for
from tidelog.client.records import RecordMetadata, TopicPartition
from tidelog.client.sync import Producer


@dataclass(frozen=True, slots=True)
class TaskOfBatch:
    """Who writes: the same name in every attempt at the same task of the same query, and the number of the batch."""

    id: str
    batch: int


def send_once(rows: Iterator[Row], task: TaskOfBatch, settings: Mapping[str, str]) -> int:
    """Send the rows unless an earlier attempt has. The number of rows.

    Taking over the transactional id comes first: from then on no earlier attempt can commit any more, so what the marker
    says stays true.
    """
    first = next(rows, None)
    if first is None:
        return 0
    with Producer({**settings, "transactional.id": task.id}) as producer:
        written = written_by(session_for(connection_of(settings)), task.id)
        if written is not None and written.batch >= task.batch:
            return _skipped(1 + sum(1 for _ in rows), written.rows if written.batch == task.batch else None, task)
        with producer.transaction():
            count = _send_all(producer, chain([first], rows))
            where = TopicPartition(first.topic, 0)
            producer.send_offsets_to_transaction({where: marker(task.batch, count)}, task.id)
        return count


def send_at_least_once(rows: Iterator[Row], settings: Mapping[str, str]) -> int:
    """Send the rows; an attempt that is repeated sends them again."""
    first = next(rows, None)
    if first is None:
        return 0
    with Producer(settings) as producer:
        return _send_all(producer, chain([first], rows))


def _send_all(producer: Producer, rows: Iterable[Row]) -> int:
    failures: list[BaseException] = []

    def note(_: RecordMetadata | None, error: BaseException | None) -> None:
        if error is not None:
            failures.append(error)

    count = 0
    for row in rows:
        producer.send(row.topic, row.value, row.key, partition=row.partition, headers=row.headers, callback=note)
        count += 1
        if failures:
            break
    producer.flush()
    if failures:
        raise failures[0]
    return count


def _skipped(count: int, before: int | None, task: TaskOfBatch) -> int:
    if before is not None and before != count:
        raise ChangedBatchError(
            f"{task.id}: batch {task.batch} was written with {before} rows and is repeated with {count}. Repeat it with "
            "the options and the number of partitions that it had, or set deliveryGuarantee=at-least-once."
        )
    return count
