"""Compact JSON as Kafka writes it into znodes, and typed reading of what is found there."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

T = TypeVar("T")


class MalformedZnode(ValueError):  # noqa: N818 - says what is the matter
    """A znode's data is not what its path promises."""


def encode_json(value: Mapping[str, Any]) -> bytes:
    """Compact UTF-8 JSON with the fields in the order given."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def parsed(parse: Callable[[str], T], text: str) -> T:
    """What `parse` makes of the text; MalformedZnode if it refuses."""
    try:
        return parse(text)
    except ValueError as error:
        raise MalformedZnode(str(error)) from error


class Fields:
    """One JSON object; whatever is missing or of another type raises MalformedZnode."""

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values = values
        self._where = where

    @classmethod
    def parse(cls, data: bytes, where: str) -> Self:
        try:
            values = json.loads(data)
        except ValueError as error:
            raise MalformedZnode(f"{where}: {data[:200]!r} is not JSON") from error
        return cls(cls._checked(values, dict, where), where)

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def names(self) -> list[str]:
        return list(self._values)

    def integer(self, name: str, default: int | None = None) -> int:
        value = self._find(name, default)
        # Kafka writes numbers that need 64 bits, and timestamps, as text.
        if isinstance(value, str) and value.lstrip("-").isdecimal():
            return int(value)
        return int(self._checked(value, int, f"{self._where}.{name}"))

    def text(self, name: str, default: str | None = None) -> str:
        return str(self._checked(self._find(name, default), str, f"{self._where}.{name}"))

    def optional_text(self, name: str) -> str | None:
        return self.text(name) if name in self else None

    def integers(self, name: str) -> tuple[int, ...]:
        where = f"{self._where}.{name}"
        return tuple(int(self._checked(item, int, where)) for item in self._list(name))

    def texts(self, name: str) -> tuple[str, ...]:
        where = f"{self._where}.{name}"
        return tuple(str(self._checked(item, str, where)) for item in self._list(name))

    def objects(self, name: str) -> tuple["Fields", ...]:
        where = f"{self._where}.{name}"
        return tuple(Fields(self._checked(item, dict, where), where) for item in self._list(name))

    def object(self, name: str) -> "Fields":
        """The object of that name; one that is absent reads as empty."""
        where = f"{self._where}.{name}"
        return Fields(self._checked(self._find(name, {}), dict, where), where)

    def _list(self, name: str) -> list[Any]:
        found: list[Any] = self._checked(self._find(name, None), list, f"{self._where}.{name}")
        return found

    def _find(self, name: str, default: Any) -> Any:
        value = self._values.get(name)
        value = default if value is None else value
        if value is None:
            raise MalformedZnode(f"{self._where} has no {name}")
        return value

    @staticmethod
    def _checked(value: Any, kind: type, where: str) -> Any:
        if not isinstance(value, kind) or isinstance(value, bool):
            raise MalformedZnode(f"{where}: {value!r} is not of type {kind.__name__}")
        return value
