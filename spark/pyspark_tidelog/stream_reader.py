"""Streaming reads: each trigger takes a range of offsets of every partition, as much as the options admit.

Spark keeps one object of this class in a Python process beside the driver for as long as the query runs, and asks it one
thing at a time. Tasks get copies of it, of which only `read` is called.
"""

import logging
import time
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from pyspark_tidelog.discovery import Discovery
from pyspark_tidelog.ending import is_ending
from pyspark_tidelog.fetching import read_ranges
from pyspark_tidelog.losses import Extent, loss_error, resume
from pyspark_tidelog.mirror import GroupMirror
from pyspark_tidelog.offsets import Offsets
from pyspark_tidelog.options import ReaderOptions
from pyspark_tidelog.ranges import OffsetRange, SharedTask, cut, limited, shared
from tidelog.client.records import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

_log = logging.getLogger(__name__)
# A task of Spark costs as much as reading some thousand records.
_RECORDS_OF_SHARED_TASK = 5000


class TidelogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans micro-batches on the driver's side, and reads one range of offsets in a task."""

    def __init__(self, options: ReaderOptions, schema: StructType) -> None:
        self._options = options
        self._columns = tuple(schema.fieldNames())
        self._discovery = Discovery(options)
        self._mirror = GroupMirror(options.group_id, options.settings)
        # With Trigger.AvailableNow: where the query ends.
        self._target: Mapping[TopicPartition, int] | None = None
        self._newest: Offsets | None = None
        # The end that was answered last, and what the cluster had then: `partitions` is asked for the same right after.
        self._planned: tuple[dict[str, Any], Extent] | None = None
        self._triggered_at = time.monotonic()
        self._told: set[str] = set()

    # ---- planning, on the driver's side

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        self._discovery.check_reachable()
        extent = self._discovery.extent()
        starts = self._discovery.resolve("startingOffsets", self._options.starting, extent)
        return self._discovery.offsets(starts).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self._options.offsets_per_trigger_max
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        extent = self._discovery.extent()
        finished = Offsets.from_json(start)
        at = self._resumed(finished, extent)
        # The batch that ended here is done; Spark itself says so only when it has planned another one.
        self._mirror.commit(finished.by_partition)
        ends = self._within_target(extent)
        self._newest = self._discovery.offsets(extent.ends)
        waiting = sum(max(0, ends[each] - at[each]) for each in ends)
        if not waiting or self._waits_for_more(waiting, limit) or is_ending():
            # A query that has read everything may end after this.
            self._mirror.settle(finished.by_partition)
            return start
        self._triggered_at = time.monotonic()
        if isinstance(limit, ReadMaxRows):
            ends = limited(at, ends, limit.max_rows)
        # A partition never goes back: its log may have been cut after the query had read it.
        end = self._discovery.offsets({each: max(end, at[each]) for each, end in ends.items()}).to_json()
        self._planned = (end, extent)
        return end

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._discovery.extent().ends

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        return None if self._newest is None else self._newest.to_json()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        is_planned = self._planned is not None and self._planned[0] == end
        extent = self._planned[1] if self._planned is not None and is_planned else self._discovery.extent()
        until = Offsets.from_json(end)
        at = self._resumed(Offsets.from_json(start), extent)
        # A batch that ends in a topic which was made anew since has nothing left; the next one begins the new topic.
        ranges = [
            OffsetRange(*each, at[each], min(offset, extent.ends[each]))
            for each, offset in sorted(until.by_partition.items())
            if each in at and not until.is_of_other_topic(each.topic, extent.topic_ids)
        ]
        return self._tasks(ranges)

    def _tasks(self, ranges: list[OffsetRange]) -> list[InputPartition]:
        """Depends on nothing but ranges and options: a repeated batch has the same tasks."""
        most = self._options.records_per_partition_max
        pieces = cut(ranges, self._options.partitions_min, most)
        is_parallel = self._options.partitions_min is not None
        found: list[InputPartition] = []
        found.extend(
            shared(pieces, 1 if is_parallel else min(most or _RECORDS_OF_SHARED_TASK, _RECORDS_OF_SHARED_TASK))
        )
        return found

    def commit(self, end: dict[str, Any]) -> None:
        self._mirror.commit(Offsets.from_json(end).by_partition)

    def _resumed(self, at: Offsets, extent: Extent) -> dict[TopicPartition, int]:
        resumption = resume(at, extent)
        if resumption.losses and self._options.fail_on_data_loss:
            raise loss_error(resumption.losses)
        for loss in resumption.losses:
            if loss not in self._told:
                self._told.add(loss)
                _log.warning("failOnDataLoss is false, going on without what is gone: %s", loss)
        return resumption.offsets

    def _within_target(self, extent: Extent) -> dict[TopicPartition, int]:
        if self._target is None:
            return dict(extent.ends)
        return {each: min(end, self._target[each]) for each, end in extent.ends.items() if each in self._target}

    def _waits_for_more(self, waiting: int, limit: ReadLimit) -> bool:
        least = self._options.offsets_per_trigger_min
        if least is None or waiting >= least or self._target is not None:
            return False
        is_everything_wanted = self._options.offsets_per_trigger_max is not None and isinstance(limit, ReadAllAvailable)
        waited_ms = (time.monotonic() - self._triggered_at) * 1000
        return not is_everything_wanted and waited_ms < self._options.trigger_delay_max_ms

    # ---- reading, in a task

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        assert isinstance(partition, SharedTask), "made by partitions()"
        return read_ranges(partition.ranges, self._options, self._columns)
