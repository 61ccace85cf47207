"""Java's .properties format."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.runtime.properties import parse_properties

TEXT = st.text(st.characters(codec="utf-8"))


def escaped(text: str) -> str:
    """Write every character that could mean something as java.util.Properties would."""
    special = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
    return "".join(special.get(char, f"\\{char}" if char in "\\=:#! " else char) for char in text)


@given(
    st.dictionaries(TEXT, TEXT), st.sampled_from(["=", ":", " ", " = ", "\t:\f"]), st.sampled_from(["\n", "\r\n", "\r"])
)
def test_what_was_written_is_read(properties: dict[str, str], separator: str, end: str) -> None:
    # An empty key cannot be told from a separator that begins its line, unless the separator is there.
    properties.pop("", None)
    text = "".join(f"{escaped(key)}{separator}{escaped(value)}{end}" for key, value in properties.items())
    assert parse_properties(text) == properties


@given(TEXT)
def test_any_text_is_read_or_refused(text: str) -> None:
    # Only a bad escape is refused, and no other exception may come out of any text.
    with contextlib.suppress(ValueError):
        parse_properties(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("# comment\n! comment\n  # comment\n\n \t\n", {}),
        ("a=1\nb:2\nc 3\nd\te", {"a": "1", "b": "2", "c": "3", "d": "e"}),
        ("a = 1", {"a": "1"}),
        ("a==1", {"a": "=1"}),
        ("a", {"a": ""}),
        ("=1", {"": "1"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=x # no comment", {"a": "x # no comment"}),
        ("a=trailing ", {"a": "trailing "}),
        ("a=1,\\\n   2,\\\n\t3", {"a": "1,2,3"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\n# part of it", {"a": "1# part of it"}),
        ("a=1\\", {"a": "1"}),
        ("a\\ b\\=c=\\u0041\\t\\q", {"a b=c": "A\tq"}),
        ("a=C:\\\\data", {"a": "C:\\data"}),
    ],
)
def test_texts_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


@pytest.mark.parametrize("text", ["a=\\u12", "a=\\uzzzz", "\\u=1"])
def test_a_bad_escape_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="four hexadecimal digits"):
        parse_properties(text)
