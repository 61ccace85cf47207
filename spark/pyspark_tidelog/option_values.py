"""Values of options: parsed, or refused with a sentence that names the option and what it takes."""

import json
import re
from collections.abc import Mapping
from typing import Any

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.offsets import partition_numbers
from tidelog.client.records import TopicPartition

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def as_boolean(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise OptionError(f"{name}: {text!r} is neither true nor false.")
    return text.lower() == "true"


def as_count(name: str, text: str, least: int = 1) -> int:
    if not text.strip().isdecimal() or int(text) < least:
        raise OptionError(f"{name}: {text!r} is not a whole number of at least {least}.")
    return int(text)


def as_milliseconds(name: str, text: str) -> int:
    """A duration as Spark writes it: 15m, 10 s, 500ms."""
    found = re.fullmatch(r"\s*(\d+)\s*([a-z]+)\s*", text.lower())
    if found is None or found[2] not in _UNITS_MS:
        raise OptionError(f"{name}: {text!r} is not a duration such as 15m, 10s or 500ms.")
    return int(found[1]) * _UNITS_MS[found[2]]


def as_names(name: str, text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    if not names:
        raise OptionError(f"{name}: it names no topic.")
    return names


def as_pattern(name: str, text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise OptionError(f"{name}: {text!r} is not a regular expression ({error}).") from None
    return text


def as_partitions(name: str, text: str) -> tuple[TopicPartition, ...]:
    """{"topic": [0, 1]}."""
    told = _json_object(name, text, '{"topic": [0, 1]}')
    try:
        found = tuple(TopicPartition(topic, int(each)) for topic, numbers in told.items() for each in numbers)
    except (TypeError, ValueError):
        raise OptionError(f'{name}: {text!r} is not of the form {{"topic": [0, 1]}}.') from None
    if not found:
        raise OptionError(f"{name}: it names no partition.")
    return found


def as_partition_numbers(name: str, text: str) -> dict[TopicPartition, int]:
    """{"topic": {"0": 23}}."""
    told = _json_object(name, text, '{"topic": {"0": 23}}')
    try:
        return partition_numbers(told)
    except (AttributeError, TypeError, ValueError):
        raise OptionError(f'{name}: {text!r} is not of the form {{"topic": {{"0": 23}}}}.') from None


def _json_object(name: str, text: str, form: str) -> Mapping[str, Any]:
    try:
        told = json.loads(text)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        raise OptionError(f"{name}: {text!r} is not JSON of the form {form}.")
    return told
