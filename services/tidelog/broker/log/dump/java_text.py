"""Texts as Java and Scala make them: JSON without spaces, optional numbers, and the order of a hash set."""

from collections.abc import Iterable, Sequence

from tidelog.kafka.types import java_hash

Json = None | int | str | Sequence["Json"] | dict[str, "Json"]

_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_SMALLEST_TABLE = 16


def json_text(value: Json) -> str:
    """As Jackson writes it: only what must be escaped is, control characters by hexadecimal capitals."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return '"' + "".join(map(_escaped, value)) + '"'
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_text(name)}:{json_text(field)}" for name, field in value.items()) + "}"
    if isinstance(value, Sequence):
        return "[" + ",".join(map(json_text, value)) + "]"
    return str(value)


def _escaped(character: str) -> str:
    if character < " " or character in '"\\':
        return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04X}"
    return character


def boolean(value: bool) -> str:
    return "true" if value else "false"


def optional_long(value: int | None) -> str:
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"


def in_set_order(groups: Iterable[tuple[str, Sequence[int]]]) -> list[str]:
    """Topic partitions in the order in which Scala's mutable hash set gives them after groups of them were added.

    A set has a table of buckets, as many as a power of two, and within one the elements are in the order of their
    hashes. It grows before a quarter of it would be left, and at once for all elements of a group.
    """
    table, hashes = _SMALLEST_TABLE, dict[str, int]()
    for topic, partitions in groups:
        table = max(table, _table_for(len(partitions)))
        for partition in partitions:
            name = f"{topic}-{partition}"
            if name not in hashes:
                if len(hashes) + 1 >= table * 3 // 4:
                    table *= 2
                hashes[name] = _set_hash(topic, partition)
    return sorted(hashes, key=lambda name: (hashes[name] & (table - 1), hashes[name]))


def _table_for(count: int) -> int:
    buckets = int((count + 1) / 0.75)
    return 1 << (max(buckets - 1, 4).bit_length())


def _set_hash(topic: str, partition: int) -> int:
    """The hash of Kafka's TopicPartition, with its upper half mixed into the lower; a signed number of 32 bits."""
    plain = (31 * (31 + partition) + java_hash(topic)) & 0xFFFFFFFF
    mixed = plain ^ (plain >> 16)
    return mixed - (1 << 32) if mixed >= 1 << 31 else mixed
