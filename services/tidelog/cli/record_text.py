"""Records as lines of text: what `produce` reads and `consume` prints."""

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelog.cli.parsing import decoded, time_text
from tidelog.local.faults import WrongUsageError

if TYPE_CHECKING:
    from tidelog.client import ConsumerRecord

Headers = list[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class LineFormat:
    """How a line that is read falls into headers, key and value; a separator of None means that the part is missing."""

    key_separator: str | None = None
    headers_separator: str | None = None
    header_separator: str = ","
    header_key_separator: str = ":"
    null_marker: str | None = None
    ignore_error: bool = False

    def parse(self, line: str, number: int) -> tuple[bytes | None, bytes | None, Headers]:
        """Key, value and headers of a line; WrongUsageError names the line that does not have what it should."""
        headers: Headers = []
        if self.headers_separator is not None:
            text, line = self._cut(line, self.headers_separator, "headers", number)
            headers = self._headers(text, number)
        key: str | None = None
        if self.key_separator is not None:
            key, line = self._cut(line, self.key_separator, "a key", number)
        return self._bytes(key), self._bytes(line), headers

    def _cut(self, line: str, separator: str, what: str, number: int) -> tuple[str | None, str]:
        before, found, after = line.partition(separator)
        if found:
            return before, after
        if self.ignore_error:
            return None, line
        raise WrongUsageError(f"Line {number} has no {separator!r}, so it cannot be told what is {what}: {line!r}.")

    def _headers(self, text: str | None, number: int) -> Headers:
        if not text or text == self.null_marker:
            return []
        headers: Headers = []
        for part in text.split(self.header_separator):
            key, found, value = part.partition(self.header_key_separator)
            if not found and not self.ignore_error:
                raise WrongUsageError(f"Line {number} has a header without {self.header_key_separator!r}: {part!r}.")
            headers.append((key, self._bytes(value)))
        return headers

    def _bytes(self, text: str | None) -> bytes | None:
        return None if text is None or text == self.null_marker else text.encode("utf-8", "surrogateescape")


def record_document(record: "ConsumerRecord") -> dict[str, Any]:
    """A record for programs; bytes that are no text come as base64 under a name that says so."""
    document: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": record.timestamp_type.name,
    }
    for name, data in (("key", record.key), ("value", record.value)):
        document.update(_named(name, data))
    document["headers"] = [{"name": name, **_named("value", data)} for name, data in record.headers]
    return document


def _named(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: bytes(data).decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": b64encode(data).decode()}


def json_line(record: "ConsumerRecord") -> bytes:
    return json.dumps(record_document(record)).encode() + b"\n"


def compiled_format(text: str) -> Callable[["ConsumerRecord"], bytes]:
    """A function that prints records as a format of kcat's says: %t %p %o %k %s %T %h %S %K %%, and \\n, \\t."""
    parts = decoded(text).split("%")
    printers: list[bytes | Callable[[ConsumerRecord], bytes]] = [parts[0].encode()]
    rest = iter(parts[1:])
    for part in rest:
        if not part:
            printers.append(b"%" + next(rest, "").encode())
        elif part[0] not in _FIELDS:
            raise WrongUsageError(
                f"%{part[0]} is not known in a format: use one of {' '.join('%' + f for f in _FIELDS)}."
            )
        else:
            printers += [_FIELDS[part[0]], part[1:].encode()]
    return lambda record: b"".join(each if isinstance(each, bytes) else each(record) for each in printers)


def _header_text(record: "ConsumerRecord") -> bytes:
    return b",".join(name.encode() + b"=" + (value or b"") for name, value in record.headers)


_FIELDS: dict[str, Callable[["ConsumerRecord"], bytes]] = {
    "t": lambda record: record.topic.encode(),
    "p": lambda record: b"%d" % record.partition,
    "o": lambda record: b"%d" % record.offset,
    "k": lambda record: record.key or b"",
    "s": lambda record: record.value or b"",
    "T": lambda record: b"%d" % record.timestamp,
    "D": lambda record: time_text(record.timestamp).encode(),
    "h": _header_text,
    "S": lambda record: b"%d" % (-1 if record.value is None else len(record.value)),
    "K": lambda record: b"%d" % (-1 if record.key is None else len(record.key)),
}
