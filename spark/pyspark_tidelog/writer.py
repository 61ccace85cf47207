"""Writers: each task sends its rows and commits them itself, and a repeated batch skips the tasks that have.

Exactly-once needs that a repeated batch has the same tasks with the same rows. The source gives a batch the same ranges of
offsets when it is repeated, and Spark's checkpoint fixes the number of partitions of stateful queries.
"""

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from pyspark_tidelog.markers import forget
from pyspark_tidelog.options import WriterOptions
from pyspark_tidelog.rows import rows_of
from pyspark_tidelog.sending import TaskOfBatch, send_at_least_once, send_once

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

_QUERY_ID = "sql.streaming.queryId"
_BATCH_ID = "streaming.sql.batchId"


@dataclass
class TaskWritten(WriterCommitMessage):
    """What a task tells the driver."""

    task_id: str
    rows: int


class TidelogWriter(DataSourceArrowWriter):
    """One write of a DataFrame. With txnAppId and txnVersion it is the same write whenever it is repeated."""

    def __init__(self, options: WriterOptions) -> None:
        self._options = options
        self._name = options.app_id or str(uuid.uuid4())
        self._batch = options.app_version or 0

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        return _write(iterator, self._options, self._name, self._batch)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Tasks have committed what they wrote. The markers of a write that is never repeated are of no more use."""
        if self._options.is_exactly_once and not self._options.app_id:
            forget(
                [each.task_id for each in messages if isinstance(each, TaskWritten) and each.rows],
                self._options.settings,
            )


class TidelogStreamWriter(DataSourceStreamArrowWriter):
    """The sink of a streaming query: a write for each micro-batch, under the name of the query."""

    def __init__(self, options: WriterOptions) -> None:
        self._options = options

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None, "Spark calls it in a task"
        query, batch = context.getLocalProperty(_QUERY_ID), context.getLocalProperty(_BATCH_ID)
        assert query is not None, "a streaming query tells its tasks its id"
        assert batch is not None, "a streaming query tells its tasks the number of the batch"
        return _write(iterator, self._options, query, int(batch))

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803  Spark's name
        """Tasks have committed what they wrote."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """What tasks have committed stays; the batch is repeated without it."""


def _write(iterator: "Iterator[pa.RecordBatch]", options: WriterOptions, name: str, batch: int) -> TaskWritten:
    rows = rows_of(iterator, options.topic)
    if not options.is_exactly_once:
        return TaskWritten("", send_at_least_once(rows, options.settings))
    context = TaskContext.get()
    assert context is not None, "Spark calls it in a task"
    task_id = f"{options.transactional_id_prefix}-{name}-{context.partitionId()}"
    return TaskWritten(task_id, send_once(rows, TaskOfBatch(task_id, batch), options.settings))
