"""Batch reading: offsets are settled when the query is planned, and each task reads a range of them."""

import logging
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from pyspark_tidelog.discovery import Discovery
from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.fetching import read_ranges
from pyspark_tidelog.losses import Extent, loss_error
from pyspark_tidelog.options import ReaderOptions
from pyspark_tidelog.ranges import OffsetRange, cut
from tidelog.client.records import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

_log = logging.getLogger(__name__)


class TidelogReader(DataSourceReader):
    """Reads from where to where the options say."""

    def __init__(self, options: ReaderOptions, schema: StructType) -> None:
        self._options = options
        self._columns = tuple(schema.fieldNames())

    def partitions(self) -> list[InputPartition]:
        discovery = Discovery(self._options)
        discovery.check_reachable()
        extent = discovery.extent()
        starts = discovery.resolve("startingOffsets", self._options.starting, extent)
        ends = discovery.resolve("endingOffsets", self._options.ending, extent)
        ranges = [self._range(partition, starts[partition], ends[partition], extent) for partition in sorted(starts)]
        found: list[InputPartition] = []
        found.extend(cut(ranges, self._options.partitions_min, self._options.records_per_partition_max))
        # Spark takes no partitions for one that it makes up itself.
        return found or [OffsetRange("", 0, 0, 0)]

    def _range(self, partition: TopicPartition, start: int, end: int, extent: Extent) -> OffsetRange:
        """What is there of what was asked for."""
        if start > end:
            raise OptionError(f"startingOffsets: {start} of {partition} lies beyond the end of the query, {end}.")
        first, last = extent.starts[partition], extent.ends[partition]
        if start < first:
            self._on_gap(f"{partition} lost offsets {start} to {first - 1}; its log begins at {first} now")
        if end > last:
            self._on_gap(f"{partition} ends at offset {last}, and offsets up to {end} are asked for")
        found = max(start, first)
        return OffsetRange(*partition, found, max(found, min(end, last)))

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        assert isinstance(partition, OffsetRange), "made by partitions()"
        return read_ranges([partition], self._options, self._columns) if partition.count else iter(())

    def _on_gap(self, loss: str) -> None:
        if self._options.fail_on_data_loss:
            raise loss_error([loss])
        _log.warning("failOnDataLoss is false, going on without what is gone: %s", loss)
