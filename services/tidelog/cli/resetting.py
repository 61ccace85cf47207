"""Where a group shall go on, in all the forms in which Kafka's tool lets one say it."""

import csv
import time
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.parsing import datetime_ms, duration_ms
from tidelog.local.faults import LocalError, WrongUsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tidelog.client import Admin, TopicPartition


class Form(Enum):
    """The ways to say where."""

    EARLIEST = auto()
    LATEST = auto()
    CURRENT = auto()
    OFFSET = auto()
    TIME = auto()
    SHIFT = auto()
    FILE = auto()


@dataclass(frozen=True, slots=True)
class Aim:
    """One form with its number: an offset, a time in milliseconds, or by how many records to shift."""

    form: Form
    number: int = 0
    offsets: "Mapping[TopicPartition, int] | None" = None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a partition: where its log starts and ends, what is committed, and what is at the time asked for."""

    start: int
    end: int
    committed: int | None
    at_time: int | None = None


def aim_of(
    *,
    to_earliest: bool = False,
    to_latest: bool = False,
    to_current: bool = False,
    to_offset: int | None = None,
    to_datetime: str | None = None,
    by_duration: str | None = None,
    shift_by: int | None = None,
    from_file: Path | None = None,
) -> Aim:
    """The one form that was given; WrongUsageError if there is none, or more than one."""
    given = [
        *([Aim(Form.EARLIEST)] if to_earliest else []),
        *([Aim(Form.LATEST)] if to_latest else []),
        *([Aim(Form.CURRENT)] if to_current else []),
        *([Aim(Form.OFFSET, to_offset)] if to_offset is not None else []),
        *([Aim(Form.TIME, datetime_ms(to_datetime))] if to_datetime is not None else []),
        *([Aim(Form.TIME, int(time.time() * 1000) - duration_ms(by_duration))] if by_duration is not None else []),
        *([Aim(Form.SHIFT, shift_by)] if shift_by is not None else []),
        *([Aim(Form.FILE, offsets=read_offsets(from_file))] if from_file is not None else []),
    ]
    if len(given) != 1:
        raise WrongUsageError(
            "Say where to go with exactly one of --to-earliest, --to-latest, --to-current, --to-offset, --to-datetime, "
            "--by-duration, --shift-by and --from-file."
        )
    return given[0]


def new_offset(aim: Aim, partition: "TopicPartition", known: Known) -> int:
    """Where the group goes on; never outside of what the partition has."""
    wanted = {
        Form.EARLIEST: known.start,
        Form.LATEST: known.end,
        Form.CURRENT: known.end if known.committed is None else known.committed,
        Form.OFFSET: aim.number,
        Form.TIME: known.end if known.at_time is None else known.at_time,
        Form.SHIFT: (known.committed or 0) + aim.number,
        Form.FILE: (aim.offsets or {}).get(partition, 0),
    }[aim.form]
    return min(max(wanted, known.start), known.end)


async def plan(
    admin: "Admin", group: str, partitions: "Iterable[TopicPartition]", aim: Aim
) -> "dict[TopicPartition, int]":
    """The new offsets of a group. Raises if it cannot be shifted, having no offset to shift."""
    wanted = list(aim.offsets) if aim.offsets is not None else list(partitions)
    committed = await admin.list_group_offsets(group)
    starts = await admin.list_offsets(dict.fromkeys(wanted, "earliest"))
    ends = await admin.list_offsets(dict.fromkeys(wanted, "latest"))
    times = await admin.list_offsets(dict.fromkeys(wanted, aim.number)) if aim.form is Form.TIME else {}
    planned = {}
    for each in wanted:
        if aim.form is Form.SHIFT and each not in committed:
            raise WrongUsageError(f"{group} has committed nothing for {each}: there is nothing to shift.")
        place = committed.get(each)
        found = times.get(each)
        known = Known(
            starts[each].offset,
            ends[each].offset,
            None if place is None else place.offset,
            None if found is None or found.offset < 0 else found.offset,
        )
        planned[each] = new_offset(aim, each, known)
    return planned


def read_offsets(path: Path) -> "dict[TopicPartition, int]":
    """A file with lines `topic,partition,offset`, as --export writes them."""
    from tidelog.client import TopicPartition

    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.reader(file) if row]
        return {TopicPartition(topic, int(partition)): int(offset) for topic, partition, offset in rows}
    except ValueError:
        raise WrongUsageError(f"{path} is not a list of offsets: its lines are topic,partition,offset.") from None
    except OSError as error:
        raise LocalError(f"{path} cannot be read ({error.strerror}).") from None
