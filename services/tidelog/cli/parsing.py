"""What people write for times, durations, pairs and partitions, made into values."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from tidelog.local.faults import WrongUsageError

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SHORT = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
# ISO 8601 as Java's Duration reads it: days are 24 hours, there are no months.
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)
_ISO_UNITS_MS = (86_400_000, 3_600_000, 60_000, 1000)


def duration_ms(text: str) -> int:
    """Milliseconds of `10s`, `1h30m`, `500ms`, or of Kafka's `PT1H30M`."""
    if text[:1] in ("P", "p"):
        return _iso_duration_ms(text)
    found = _SHORT.findall(text)
    if not found or "".join(number + unit for number, unit in found) != text:
        raise WrongUsageError(f"{text!r} is not a duration: write 10s, 1h30m, 500ms or PT1H30M.")
    return round(sum(float(number) * _UNITS_MS[unit] for number, unit in found))


def _iso_duration_ms(text: str) -> int:
    found = _ISO.fullmatch(text)
    if found is None or not any(found.groups()):
        raise WrongUsageError(f"{text!r} is not a duration: write PT1H30M, P2D or 1h30m.")
    parts = zip(found.groups(), _ISO_UNITS_MS, strict=True)
    return round(sum(float(number) * unit for number, unit in parts if number))


def datetime_ms(text: str) -> int:
    """Milliseconds since 1970 of `2026-01-31T12:00:00.000`; without a zone it is UTC, as in Kafka's tools."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise WrongUsageError(f"{text!r} is not a time: write it as 2026-01-31T12:00:00.000, or with +01:00.") from None
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def time_text(timestamp_ms: int) -> str:
    """A time for people, in UTC."""
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds")


def pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """KEY=VALUE, however often."""
    found = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise WrongUsageError(f"{option} takes KEY=VALUE, not {text!r}.")
        found[key.strip()] = value.strip()
    return found


def comma_pairs(text: str) -> list[str]:
    """`a=1,b=[x,y]` as Kafka's tools write several pairs: brackets keep a value with commas together."""
    return [part.replace("[", "").replace("]", "") for part in re.split(r",(?![^\[]*\])", text) if part.strip()]


def topic_partitions(text: str) -> tuple[str, list[int] | None]:
    """`orders`, `orders:0,2` or `orders:1-3`: a topic, and which of its partitions; None is all of them."""
    topic, colon, numbers = text.partition(":")
    if not topic:
        raise WrongUsageError(f"{text!r} names no topic.")
    return topic, number_list(numbers) if colon else None


def number_list(text: str) -> list[int]:
    """Numbers and ranges: `0,2-4` is 0, 2, 3 and 4."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()):
            raise WrongUsageError(f"{text!r} is not a list of numbers: write 0,2 or 1-3.")
        found.extend(range(int(first), int(last or first) + 1))
    return found


def replica_assignment(text: str) -> dict[int, list[int]]:
    """Kafka's `0:1,1:2`: partitions between commas, the brokers of each between colons."""
    try:
        return {number: [int(broker) for broker in part.split(":")] for number, part in enumerate(text.split(","))}
    except ValueError:
        raise WrongUsageError(f"{text!r} is not a replica assignment: write 0:1,1:2 for two partitions.") from None


def decoded(text: str) -> str:
    """A separator as people type it: \\t and \\n mean what they mean in C."""
    return text.replace("\\t", "\t").replace("\\n", "\n").replace("\\0", "\0")
