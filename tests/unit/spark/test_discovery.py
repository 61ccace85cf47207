"""Asking the cluster for offsets: how often, and how seldom."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any
from uuid import UUID

import pytest

from pyspark_tidelog import discovery
from pyspark_tidelog.discovery import Discovery
from pyspark_tidelog.options import read_reader_options
from tidelog.client.core.cluster import PartitionInfo, TopicInfo
from tidelog.client.errors import RequestTimeoutError
from tidelog.client.records import TopicPartition

_A = TopicPartition("t", 0)


class _Client:
    """Answers with the same offsets, after as many failures as it is told."""

    def __init__(self) -> None:
        self.failures = 0
        self.asked: list[str] = []

    async def beginning_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return self._answer("first", dict.fromkeys(partitions, 3))

    async def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return self._answer("last", dict.fromkeys(partitions, 9))

    def _answer(self, what: str, offsets: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        self.asked.append(what)
        if self.failures:
            self.failures -= 1
            raise RequestTimeoutError("nobody answers")
        return offsets


class _Session:
    def __init__(self, client: _Client) -> None:
        self.client = client

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run(coroutine)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> _Client:
    found = _Client()
    monkeypatch.setattr(discovery, "session_for", lambda _: _Session(found))
    monkeypatch.setattr("pyspark_tidelog.discovery.time.sleep", lambda _: None)
    return found


def asking(monkeypatch: pytest.MonkeyPatch, **options: str) -> Discovery:
    given = {"kafka.bootstrap.servers": "b:1", "subscribe": "t", "partition.metadata.cache.ttl.ms": "60000", **options}
    found = Discovery(read_reader_options(given, is_stream=True))

    partitions = {0: PartitionInfo("t", 0, 1, 0, (1,), (1,))}

    async def topics(_: object) -> dict[str, TopicInfo]:
        return {"t": TopicInfo("t", UUID(int=1), partitions=partitions, is_internal=False)}

    monkeypatch.setattr(found, "_ask", topics)
    return found


def test_offsets_are_asked_for_again_as_often_as_the_option_says(
    client: _Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = asking(monkeypatch, **{"fetchOffset.numRetries": "2"})
    asked.extent()
    client.failures = 2
    with caplog.at_level(logging.WARNING):
        assert asked.extent().ends == {_A: 9}
    assert caplog.text.count("nobody answers") == 2
    client.failures = 3
    with pytest.raises(RequestTimeoutError):
        asked.extent()


def test_first_offsets_are_asked_for_as_seldom_as_topics(client: _Client, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = asking(monkeypatch)
    for _ in range(3):
        assert asked.extent().starts == {_A: 3}
    assert sorted(client.asked) == ["first", "last", "last", "last"]
