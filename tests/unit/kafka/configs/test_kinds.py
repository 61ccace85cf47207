"""How the texts of settings are read and written."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.kafka.configs.kinds import (
    BOOLEAN,
    DOUBLE,
    INT,
    LIST,
    LONG,
    PAIRS,
    PASSWORD,
    SHORT,
    STRING,
    Kind,
    Password,
)

WORDS = st.text("abc.:/0-_", min_size=1)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (BOOLEAN, st.booleans()),
        (SHORT, st.integers(-(1 << 15), (1 << 15) - 1)),
        (INT, st.integers(-(1 << 31), (1 << 31) - 1)),
        (LONG, st.integers(-(1 << 63), (1 << 63) - 1)),
        (DOUBLE, st.floats(allow_nan=False, allow_infinity=False)),
        (STRING, WORDS),
        (LIST, st.lists(WORDS).map(tuple)),
        (PAIRS, st.lists(st.tuples(WORDS, st.text("abc0", min_size=1))).map(tuple)),
    ],
)
def test_values_are_read_as_they_were_written(kind: Kind[Any], values: st.SearchStrategy[Any]) -> None:
    @given(values)
    def round_trip(value: Any) -> None:
        assert kind.parse(kind.text(value)) == value

    round_trip()


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (BOOLEAN, "yes", "true or false"),
        (BOOLEAN, "", "true or false"),
        (INT, "", "a whole number"),
        (INT, "1.0", "a whole number"),
        (INT, "1_000", "a whole number"),
        (INT, "٣", "a whole number"),
        (INT, "2147483648", "32 bits"),
        (SHORT, "32768", "16 bits"),
        (LONG, "9223372036854775808", "64 bits"),
        (LONG, "9" * 5000, "64 bits"),
        (DOUBLE, "nan", "a number"),
        (DOUBLE, "1e999", "a number"),
        (DOUBLE, "1,5", "a number"),
        (PAIRS, "a", "name:value pairs"),
        (PAIRS, "a:", "name:value pairs"),
    ],
)
def test_other_texts_are_refused_with_what_was_expected(kind: Kind[Any], text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        kind.parse(text)


def test_a_boolean_may_be_written_in_capitals() -> None:
    assert BOOLEAN.parse("TRUE") is True


def test_a_list_is_trimmed_and_no_text_is_no_elements() -> None:
    assert LIST.parse("a , b") == ("a", "b")
    assert LIST.parse("") == ()


def test_the_last_colon_of_a_pair_separates() -> None:
    assert PAIRS.parse("::1:5, h:6") == (("::1", "5"), ("h", "6"))


def test_a_large_double_is_written_as_java_writes_it() -> None:
    assert DOUBLE.text(1.7976931348623157e308) == "1.7976931348623157E308"


def test_a_password_is_never_shown() -> None:
    password = PASSWORD.parse("hunter2")
    assert password == Password("hunter2")
    assert password.secret == "hunter2"
    assert "hunter2" not in f"{password} {password!r} {PASSWORD.text(password)}"
