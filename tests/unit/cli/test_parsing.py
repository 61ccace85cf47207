"""What people write for times, durations, pairs and partitions."""

import pytest

from tidelog.cli.parsing import (
    comma_pairs,
    datetime_ms,
    decoded,
    duration_ms,
    number_list,
    pairs,
    replica_assignment,
    topic_partitions,
)
from tidelog.local.faults import WrongUsageError


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("500ms", 500),
        ("10s", 10_000),
        ("1.5s", 1500),
        ("1h30m", 5_400_000),
        ("2d", 172_800_000),
        ("PT1H30M", 5_400_000),
        ("P1DT12H", 129_600_000),
        ("pt0.5s", 500),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert duration_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["", "10", "10x", "s", "1h 30m", "P", "PT", "P1Y", "-5s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(WrongUsageError, match="not a duration"):
        duration_ms(text)


def test_times_are_utc_unless_they_say_otherwise() -> None:
    assert datetime_ms("1970-01-01T00:00:01.500") == 1500
    assert datetime_ms("1970-01-01T01:00:00+01:00") == 0
    assert datetime_ms("2026-01-31T12:00:00Z") == 1_769_860_800_000


def test_what_is_no_time() -> None:
    with pytest.raises(WrongUsageError, match="not a time"):
        datetime_ms("yesterday")


def test_pairs_and_their_faults() -> None:
    assert pairs(["a=1", "b=x=y", "c="], "--config") == {"a": "1", "b": "x=y", "c": ""}
    with pytest.raises(WrongUsageError, match="--config takes KEY=VALUE"):
        pairs(["a"], "--config")


def test_brackets_keep_a_value_with_commas_together() -> None:
    assert comma_pairs("a=1,b=[x,y],c=2") == ["a=1", "b=x,y", "c=2"]


def test_topics_with_and_without_partitions() -> None:
    assert topic_partitions("orders") == ("orders", None)
    assert topic_partitions("orders:0,2-4") == ("orders", [0, 2, 3, 4])
    assert replica_assignment("0:1,1:2") == {0: [0, 1], 1: [1, 2]}


@pytest.mark.parametrize("text", ["", "a", "1,,2", "-1"])
def test_what_is_no_list_of_numbers(text: str) -> None:
    with pytest.raises(WrongUsageError, match="not a list of numbers"):
        number_list(text)


def test_separators_are_written_as_in_c() -> None:
    assert decoded("\\t|\\n") == "\t|\n"
