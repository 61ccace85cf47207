"""Which ranges readers plan, for what a cluster has by then."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from pyspark_tidelog import ending, reader, stream_reader
from pyspark_tidelog.columns import table_schema
from pyspark_tidelog.errors import DataLossError
from pyspark_tidelog.losses import Extent
from pyspark_tidelog.offsets import Offsets
from pyspark_tidelog.options import read_reader_options
from pyspark_tidelog.places import AtOffsets
from pyspark_tidelog.ranges import OffsetRange
from tidelog.client.records import TopicPartition

_A = TopicPartition("t", 0)
_GIVEN = {"kafka.bootstrap.servers": "b:1", "subscribe": "t"}
_SCHEMA = table_schema(include_headers=False)


class _Discovery:
    """A cluster with one partition that has offsets 10 to 19."""

    extent_now = Extent({_A: 10}, {_A: 20}, {"t": "new"})

    def __init__(self, _: object) -> None:
        pass

    def check_reachable(self) -> None:
        pass

    def extent(self) -> Extent:
        return self.extent_now

    def offsets(self, found: Mapping[TopicPartition, int]) -> Offsets:
        return Offsets(found, self.extent_now.topic_ids)

    def resolve(self, option: str, place: Any, extent: Extent) -> Mapping[TopicPartition, int]:
        if isinstance(place, AtOffsets):
            return place.offsets
        return extent.starts if option == "startingOffsets" else extent.ends


@pytest.fixture(autouse=True)
def _cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "Discovery", _Discovery)
    monkeypatch.setattr(stream_reader, "Discovery", _Discovery)


def batch(start: int, end: int, **options: str) -> list[Any]:
    edges = {"startingOffsets": f'{{"t": {{"0": {start}}}}}', "endingOffsets": f'{{"t": {{"0": {end}}}}}'}
    given = read_reader_options({**_GIVEN, **edges, **options}, is_stream=False)
    return reader.TidelogReader(given, _SCHEMA).partitions()


def stream(start: Mapping[str, Any], end: Mapping[str, Any]) -> list[tuple[int, int]]:
    given = read_reader_options({**_GIVEN, "failOnDataLoss": "false"}, is_stream=True)
    planned = stream_reader.TidelogStreamReader(given, _SCHEMA).partitions(dict(start), dict(end))
    return [(each.start, each.end) for task in planned for each in task.ranges]  # type: ignore[attr-defined]


def test_a_batch_reads_what_it_was_asked_for() -> None:
    assert batch(12, 15) == [OffsetRange("t", 0, 12, 15)]


def test_a_batch_that_asks_for_more_than_there_is_is_refused_or_cut(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(DataLossError, match="t-0 lost offsets 5 to 9; its log begins at 10 now"):
        batch(5, 15)
    with pytest.raises(DataLossError, match="t-0 ends at offset 20, and offsets up to 30 are asked for"):
        batch(12, 30)
    with caplog.at_level(logging.WARNING):
        assert batch(5, 30, failOnDataLoss="false") == [OffsetRange("t", 0, 10, 20)]
    assert caplog.text.count("going on without what is gone") == 2


def test_a_query_has_nothing_new_once_its_program_is_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    ending.prepare(tmp_path / "ending")
    start = {"t": {"0": 12}, "$ids": {"t": "new"}}
    reading = stream_reader.TidelogStreamReader(read_reader_options(_GIVEN, is_stream=True), _SCHEMA)
    settled: list[object] = []
    monkeypatch.setattr(reading, "_mirror", SimpleNamespace(commit=lambda _: None, settle=settled.append))
    assert reading.latestOffset(start, ReadAllAvailable())["t"] == {"0": 20}
    ending.end()
    assert reading.latestOffset(start, ReadAllAvailable()) == start
    assert settled == [{_A: 12}]


def test_a_repeated_batch_of_a_topic_that_was_made_anew_reads_nothing_of_the_new_one() -> None:
    old, new = {"t": {"0": 3}, "$ids": {"t": "old"}}, {"t": {"0": 20}, "$ids": {"t": "new"}}
    assert stream(old, {"t": {"0": 15}, "$ids": {"t": "old"}}) == []
    # The batch after it goes on where the old one ended, and that is where the new topic begins.
    assert stream(old, new) == [(10, 20)]
