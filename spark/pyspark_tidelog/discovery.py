"""What a reader reads, as the cluster has it now: partitions, their offsets, and the offsets that options ask for."""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.losses import Extent
from pyspark_tidelog.offsets import Offsets, as_text
from pyspark_tidelog.options import ReaderOptions
from pyspark_tidelog.places import EARLIEST_OFFSET, LATEST_OFFSET, AtOffsets, AtTimes, Everywhere, Place
from pyspark_tidelog.session import Session, session_for
from tidelog.client.core.cluster import TopicInfo
from tidelog.client.errors import ClientError
from tidelog.client.records import TopicPartition
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.types import topic_id_text

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Discovery:
    """Asks the cluster on behalf of one reader."""

    def __init__(self, options: ReaderOptions) -> None:
        self._options = options
        self._topics: dict[str, TopicInfo] = {}
        self._asked_at = float("-inf")
        # First offsets are asked for as seldom as topics: if one has moved on since, the task that reads there notices.
        self._starts: dict[TopicPartition, int] | None = None

    def offsets(self, found: Mapping[TopicPartition, int]) -> Offsets:
        """Offsets together with the ids of their topics."""
        names = {each.topic for each in found}
        return Offsets(found, {name: text for name, text in self._ids().items() if name in names})

    def extent(self) -> Extent:
        """First and last offsets of all partitions."""
        partitions = self._partitions()
        client = self._session.client
        if not partitions:
            return Extent({}, {}, self._ids())
        if self._starts is not None:
            return Extent(self._starts, self._asked(lambda: client.end_offsets(partitions)), self._ids())

        async def both() -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
            return await asyncio.gather(client.beginning_offsets(partitions), client.end_offsets(partitions))

        self._starts, ends = self._asked(both)
        return Extent(self._starts, ends, self._ids())

    def resolve(self, option: str, place: Place, extent: Extent) -> dict[TopicPartition, int]:
        """The offsets of a place. OptionError where it names partitions that are not read, or leaves some out."""
        if isinstance(place, Everywhere):
            return _special(place.offset, extent)
        if isinstance(place, AtOffsets):
            _check_same(option, place.offsets, extent.starts)
            return {
                each: offset if offset >= 0 else _special(offset, extent)[each]
                for each, offset in place.offsets.items()
            }
        return self._at_times(option, place, extent)

    def check_reachable(self) -> None:
        """Raise OptionError unless a broker answers and the topics that are named exist."""
        try:
            self._session.run(self._refresh())
        except (ClientError, KafkaError) as error:
            raise OptionError(f"kafka.bootstrap.servers: {error}.") from None
        missing = self._missing()
        if missing:
            names = as_text(missing) if self._options.assigned else ", ".join(sorted({each.topic for each in missing}))
            raise OptionError(f"{self._strategy()}: there is no {names}.")

    @property
    def _session(self) -> Session:
        return session_for(self._options.settings)

    def _asked(self, question: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The answer of the cluster, which is asked again as often as fetchOffset.numRetries says."""
        for _ in range(self._options.offset_retries):
            try:
                return self._session.run(question())
            except (ClientError, KafkaError) as error:
                _log.warning("offsets are asked for again: %s", error)
                time.sleep(self._options.offset_retry_interval_ms / 1000)
        return self._session.run(question())

    # ---- topics

    def _strategy(self) -> str:
        return "assign" if self._options.assigned else "subscribe"

    def _missing(self) -> list[TopicPartition]:
        wanted = self._options.assigned or [TopicPartition(name, 0) for name in self._options.topics]
        return [
            each
            for each in wanted
            if each.topic not in self._topics or each.partition not in self._topics[each.topic].partitions
        ]

    def _partitions(self) -> list[TopicPartition]:
        if time.monotonic() - self._asked_at > self._options.discovery_ms / 1000:
            self._asked(self._refresh)
        if self._options.assigned:
            gone = set(self._missing())
            return [each for each in self._options.assigned if each not in gone]
        return [
            TopicPartition(topic.name, each) for topic in self._topics.values() for each in sorted(topic.partitions)
        ]

    async def _refresh(self) -> None:
        names = {each.topic for each in self._options.assigned} or set(self._options.topics)
        known = await self._ask(names)
        if self._options.pattern:
            matches = re.compile(self._options.pattern).fullmatch
            known = {name: topic for name, topic in known.items() if matches(name) and not topic.is_internal}
        else:
            known = {name: topic for name, topic in known.items() if name in names}
        self._topics = {name: topic for name, topic in known.items() if topic.partitions and not topic.error}
        self._asked_at = time.monotonic()
        self._starts = None

    async def _ask(self, names: Iterable[str]) -> dict[str, TopicInfo]:
        metadata = self._session.client.metadata
        if self._options.pattern:
            metadata.follow_all()
        else:
            metadata.follow(names)
        await metadata.refresh(self._session.client.config.default_api_timeout_ms)
        return dict(metadata.view.topics)

    def _ids(self) -> dict[str, str]:
        return {name: topic_id_text(topic.topic_id) for name, topic in self._topics.items() if topic.topic_id.int}

    # ---- times

    def _at_times(self, option: str, place: AtTimes, extent: Extent) -> dict[TopicPartition, int]:
        times = place.times_ms
        if times is None:
            times = dict.fromkeys(extent.starts, place.everywhere_ms or 0)
        else:
            _check_same(f"{option}ByTimestamp", times, extent.starts)
        client = self._session.client
        found = self._asked(lambda: client.offsets_for_times(times))
        unmatched = [each for each, where in found.items() if where is None]
        if unmatched and option == "startingOffsets" and not self._options.unmatched_time_is_latest:
            raise OptionError(
                f"startingOffsetsByTimestamp: no record of {as_text(unmatched)} is that young; "
                "set startingOffsetsByTimestampStrategy=latest to begin at their ends."
            )
        return {each: extent.ends[each] if where is None else where.offset for each, where in found.items()}


def _special(offset: int, extent: Extent) -> dict[TopicPartition, int]:
    assert offset in (EARLIEST_OFFSET, LATEST_OFFSET), "options were checked"
    return dict(extent.starts if offset == EARLIEST_OFFSET else extent.ends)


def _check_same(option: str, named: Mapping[TopicPartition, int], read: Mapping[TopicPartition, int]) -> None:
    if unknown := [each for each in named if each not in read]:
        raise OptionError(f"{option}: it names {as_text(unknown)}, which is not among the partitions that are read.")
    if forgotten := [each for each in read if each not in named]:
        raise OptionError(f"{option}: it must name every partition that is read, and leaves out {as_text(forgotten)}.")
