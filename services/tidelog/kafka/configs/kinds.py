"""The types a setting can have: how its text is read and written, and what Kafka calls the type."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

# Python's int() and float() also take underscores, "nan" and the digits of other scripts; Kafka does not.
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """One type of setting. `parse` raises ValueError with what it expected instead."""

    name: str
    # The number by which DescribeConfigs tells a client the type.
    code: int
    parse: Callable[[str], T]
    text: Callable[[T], str] = str


@dataclass(frozen=True, slots=True)
class Password:
    """A secret that no log, page or answer may show."""

    secret: str

    def __repr__(self) -> str:
        return "[hidden]"

    __str__ = __repr__


def _parse_boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered not in ("true", "false"):
        raise ValueError("true or false")
    return lowered == "true"


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


def _parse_integer(text: str, bits: int) -> int:
    bound = 1 << (bits - 1)
    if _INTEGER.fullmatch(text) is None:
        raise ValueError("a whole number")
    if len(text) > 20 or not -bound <= int(text) < bound:
        raise ValueError(f"a whole number that fits {bits} bits")
    return int(text)


def _parse_int(text: str) -> int:
    return _parse_integer(text, 32)


def _parse_short(text: str) -> int:
    return _parse_integer(text, 16)


def _parse_long(text: str) -> int:
    return _parse_integer(text, 64)


def _parse_double(text: str) -> float:
    if _NUMBER.fullmatch(text) is None or not math.isfinite(float(text)):
        raise ValueError("a number")
    return float(text)


def _double_text(value: float) -> str:
    # Java writes large exponents as 1.5E300.
    return repr(value).replace("e+", "E")


def split_list(text: str) -> tuple[str, ...]:
    """The elements of a comma-separated text, trimmed; no text is no elements."""
    return tuple(element.strip() for element in text.split(",")) if text else ()


def _parse_pairs(text: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    for element in filter(None, split_list(text)):
        # The last colon separates, because a name may be an IPv6 address.
        name, colon, value = element.rpartition(":")
        if not (name.strip() and colon and value.strip()):
            raise ValueError("a list of name:value pairs, separated by commas")
        pairs.append((name.strip(), value.strip()))
    return tuple(pairs)


def _pairs_text(pairs: tuple[tuple[str, str], ...]) -> str:
    return ",".join(f"{name}:{value}" for name, value in pairs)


def _password_text(value: Password) -> str:
    return str(value)


BOOLEAN: Kind[bool] = Kind("boolean", 1, _parse_boolean, _boolean_text)
STRING: Kind[str] = Kind("string", 2, str)
INT: Kind[int] = Kind("int", 3, _parse_int)
SHORT: Kind[int] = Kind("short", 4, _parse_short)
LONG: Kind[int] = Kind("long", 5, _parse_long)
DOUBLE: Kind[float] = Kind("double", 6, _parse_double, _double_text)
LIST: Kind[tuple[str, ...]] = Kind("list", 7, split_list, ",".join)
CLASS: Kind[str] = Kind("class", 8, str)
PASSWORD: Kind[Password] = Kind("password", 9, Password, _password_text)

# Kafka holds these two as strings and takes them apart later; we read them once.
CSV: Kind[tuple[str, ...]] = Kind("string", 2, split_list, ",".join)
PAIRS: Kind[tuple[tuple[str, str], ...]] = Kind("string", 2, _parse_pairs, _pairs_text)
