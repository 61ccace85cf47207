"""The error codes of a response, wherever in it they are: one at the top, or one for each part that was asked for."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tidelog.kafka.wire.schema import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

_CODE = "error_code"


def error_codes(message: Struct) -> Iterator[int]:
    """Every code, 0 for success among them."""
    has_code, parts = _places(type(message))
    if has_code:
        yield getattr(message, _CODE)
    for name, is_array in parts:
        value = getattr(message, name)
        for part in value or () if is_array else (value,):
            if part is not None:
                yield from error_codes(part)


@cache
def _places(kind: type[Struct]) -> tuple[bool, tuple[tuple[str, bool], ...]]:
    """Whether it has a code of its own, and the fields whose structs have any, with whether they are arrays."""
    parts = tuple(
        (name, field.is_array)
        for name, field in kind.fields.items()
        if isinstance(field.element, type) and issubclass(field.element, Struct) and any(_places(field.element))
    )
    return _CODE in kind.fields, parts
