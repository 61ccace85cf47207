"""Java's .properties format: what a server.properties is written in."""

import re
from collections.abc import Iterator

_NATURAL_LINE = re.compile(r"\r\n|\r|\n")
_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# A separator is "=" or ":" or a blank, with blanks around it; a backslash takes the meaning from whatever follows it.
_KEY = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|u|.|$)", re.DOTALL)


def parse_properties(text: str) -> dict[str, str]:
    """The keys and values of a file; the last one wins where a key stands twice. Raises ValueError on a bad escape."""
    properties = {}
    for line in _logical_lines(text):
        match = _KEY.match(line)
        assert match is not None, "the pattern matches every text"
        properties[_unescape(match[1])] = _unescape(line[match.end() :])
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and blanks in front, joined where one ends in a backslash that is not itself escaped."""
    pending = ""
    for line in _NATURAL_LINE.split(text):
        line = line.lstrip(_BLANK)
        if not pending and (not line or line[0] in "#!"):
            continue
        pending += line
        if _is_continued(line):
            pending = pending[:-1]
            continue
        yield pending
        pending = ""
    if pending:
        yield pending


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_replacement, text) if "\\" in text else text


def _replacement(match: re.Match[str]) -> str:
    escaped = match[1]
    if escaped == "u":
        raise ValueError("\\u must be followed by four hexadecimal digits")
    if escaped.startswith("u"):
        return chr(int(escaped[1:], 16))
    return _ESCAPES.get(escaped, escaped)
