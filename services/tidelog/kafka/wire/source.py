"""The text of a function under construction: lines, indentation, fresh names, and the objects that it refers to."""

from __future__ import annotations

import struct
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from tidelog.kafka.wire.fields import Field, Scalar
from tidelog.kafka.wire.primitives import Repeated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tidelog.kafka.wire.schema import Struct


class Source:
    def __init__(self, signature: str) -> None:
        self._lines = [signature]
        self._depth = 1
        self._serial = count(1)
        self._named: dict[str, Any] = {}

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, prefix: str) -> str:
        return f"{prefix}{next(self._serial)}"

    def refer(self, name: str, value: Any) -> str:
        """Make an object known to the function under this name."""
        assert self._named.setdefault(name, value) is value or self._named[name] == value, name
        return name

    def packer(self, codes: str, method: str) -> str:
        """The name of a bound method of a compiled big-endian Struct."""
        name = f"{method}_{codes.replace('?', 'o')}"
        if name not in self._named:
            self._named[name] = getattr(struct.Struct(">" + codes), method)
        return name

    def repeated(self, code: str, method: str) -> str:
        """The name of a mapping from a count to the function that packs or unpacks so many numbers."""
        name = f"{method}_many_{code.replace('?', 'o')}"
        if name not in self._named:
            self._named[name] = Repeated(code, method)
        return name

    def compiled(self, label: str) -> Callable[..., Any]:
        text = "\n".join(self._lines)
        function_name = self._lines[0].removeprefix("def ").partition("(")[0]
        exec(compile(text, f"<{label}>", "exec"), self._named)  # noqa: S102  the source is ours, made from schemas alone
        function: Callable[..., Any] = self._named[function_name]
        return function


def plain_fields(owner: type[Struct], version: int) -> list[tuple[str, Field]]:
    return [(n, f) for n, f in owner.fields.items() if version in f.versions and f.tag is None]


def tagged_fields(owner: type[Struct], version: int) -> list[tuple[str, Field]]:
    """In the order of their tags, which is the order in which they are written."""
    found = [(n, f) for n, f in owner.fields.items() if version in f.versions and f.tag is not None]
    return sorted(found, key=lambda pair: pair[1].tag or 0)


def fixed_size(element: Scalar[Any] | type[Struct]) -> int:
    """Bytes of a value of this type, or 0 where that varies."""
    return struct.calcsize(">" + element.code) if isinstance(element, Scalar) and element.code else 0
