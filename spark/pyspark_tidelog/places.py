"""Where reading begins and ends, as options say it: earliest, latest, offsets, or times."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.option_values import as_count, as_partition_numbers
from tidelog.client.records import TopicPartition

LATEST_OFFSET = -1
EARLIEST_OFFSET = -2


@dataclass(frozen=True, slots=True)
class Everywhere:
    """The same place in every partition: LATEST_OFFSET or EARLIEST_OFFSET."""

    offset: int


@dataclass(frozen=True, slots=True)
class AtOffsets:
    """An offset for each partition; the two special ones may be among them."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class AtTimes:
    """The first record at or after a time in milliseconds: one for all partitions, or one for each."""

    everywhere_ms: int | None = None
    times_ms: Mapping[TopicPartition, int] | None = None


Place = Everywhere | AtOffsets | AtTimes

EARLIEST = Everywhere(EARLIEST_OFFSET)
LATEST = Everywhere(LATEST_OFFSET)
_WORDS = {"earliest": EARLIEST, "latest": LATEST}


def read_place(edge: str, options: Mapping[str, str], default: Place, refused: Everywhere | None = None) -> Place:
    """The place for `starting` or `ending`. One time for all wins over times, and these over offsets, as in Spark."""
    timestamp, by_timestamp, offsets = f"{edge}Timestamp", f"{edge}OffsetsByTimestamp", f"{edge}Offsets"
    if timestamp.lower() in options:
        return AtTimes(everywhere_ms=as_count(timestamp, options[timestamp.lower()], least=0))
    if by_timestamp.lower() in options:
        return AtTimes(times_ms=as_partition_numbers(by_timestamp, options[by_timestamp.lower()]))
    if offsets.lower() not in options:
        return default
    return _read_offsets(offsets, options[offsets.lower()].strip(), refused)


def _read_offsets(name: str, text: str, refused: Everywhere | None) -> Place:
    word = _WORDS.get(text.lower())
    if word is not None:
        if word == refused:
            raise OptionError(f"{name}: {text!r} is not possible in a batch query.")
        return word
    if not text.startswith("{"):
        raise OptionError(f'{name}: {text!r} is neither earliest nor latest nor JSON like {{"topic": {{"0": 23}}}}.')
    offsets = as_partition_numbers(name, text)
    for partition, offset in offsets.items():
        if offset < EARLIEST_OFFSET or (refused is not None and offset == refused.offset):
            raise OptionError(f"{name}: {offset} of {partition} is not an offset that is possible here.")
    return AtOffsets(offsets)
