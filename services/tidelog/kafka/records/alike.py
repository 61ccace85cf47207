"""A look at many records at once, for batches whose records are laid out alike.

Records of the same sizes lie at equal distances, so that the same byte of all of them is one slice with a step. A few
such slices tell of hundreds of records that each is well-formed, at a fraction of what it costs to read them one by one.
Offsets and timestamps grow by a byte now and then; a batch therefore consists of some runs of records that are alike.
What has no such runs, or headers, or anything odd, is left to those who read single records: this is never their judge.
"""

from dataclasses import dataclass
from itertools import chain

from tidelog.kafka.records.header import Buffer
from tidelog.kafka.records.varint import decode_varint

# A run costs as much to look at as some fifty single records. A few short ones are there wherever a number grows.
RECORDS_MIN = 128
_RUN_MEAN_MIN = 48
_SHORT_RUNS_MAX = 4
_CONTINUED = bytes(range(0x80, 0x100))
_NO_HEADERS = 0
# What two bytes of a variable-length integer can hold; longer ones are left to others.
_RAW_MAX = 0x3FFF
_ODD = bytes(range(1, 0x100, 2))


def are_well_formed(records: Buffer, count: int, largest_delta: int) -> bool:
    """Whether these are so many well-formed records whose largest timestamp delta is this one. False: not found out."""
    raw = largest_delta << 1
    if not 0 <= raw <= _RAW_MAX or not _first_two_seem_alike(records):
        return False
    # Slices of bytes with a step are an order of magnitude faster than those of a view, and worth the copy.
    data, at, left, runs, reaches_largest = bytes(records), 0, count, 0, False
    while left:
        if (runs - _SHORT_RUNS_MAX) * _RUN_MEAN_MIN > count - left:
            return False
        run = _run_at(data, at, left)
        if run is None or not run.is_alike():
            return False
        deltas = run.deltas(raw)
        if deltas is None:
            return False
        reaches_largest = reaches_largest or deltas
        at += run.number * run.size
        left -= run.number
        runs += 1
    return reaches_largest and at == len(data)


def _first_two_seem_alike(records: Buffer) -> bool:
    """A glance that spares most batches of other kinds the rest."""
    try:
        size, body = decode_varint(records, 0)
        return size > 0 and records[body + size] == records[0]
    except (IndexError, ValueError):
        return False


@dataclass(slots=True)
class _Run:
    """Records at equal distances, and where the fields of the first one lie."""

    data: bytes
    start: int
    attributes: int
    timestamp: int
    offset: int
    key_size: int
    key: int
    value_size: int
    value: int
    headers: int
    size: int
    number: int

    def is_alike(self) -> bool:
        """All sizes are those of the first record, and both deltas take as many bytes as its own."""
        data, size, number = self.data, self.size, self.number
        span = (number - 1) * size + 1
        for at in chain(
            range(self.start + 1, self.attributes),
            range(self.key_size, self.key),
            range(self.value_size, self.value),
            (self.headers,),
        ):
            if data[at : at + span : size] != data[at : at + 1] * number:
                return False
        last, offset_last = self.offset - 1, self.key_size - 1
        if not (data[last : last + span : size].isascii() and data[offset_last : offset_last + span : size].isascii()):
            return False
        for at in chain(range(self.timestamp, last), range(self.offset, offset_last)):
            if data[at : at + span : size].translate(None, _CONTINUED):
                return False
        return True

    def deltas(self, raw: int) -> bool | None:
        """Whether one timestamp delta is this one and all others are below; None if that cannot be seen.

        Zigzag makes an even number of what is not negative. The upper bytes of longer ones are expected in order.
        """
        span = (self.number - 1) * self.size + 1
        low = self.data[self.timestamp : self.timestamp + span : self.size]
        if self.offset - self.timestamp == 1:
            return None if low.translate(None, _not_above(raw)) else raw < 0x80 and raw in low
        upper, lower = raw >> 7, raw & 0x7F | 0x80
        high = self.data[self.timestamp + 1 : self.timestamp + 1 + span : self.size]
        # Only where the upper byte is that of the largest does the lower one decide.
        equal = len(high) - len(high.rstrip(bytes((upper,))))
        below, decisive = high[: self.number - equal], low[self.number - equal :]
        if below.translate(None, bytes(range(upper))) or decisive.translate(None, _not_above(lower)):
            return None
        return lower in decisive


def _not_above(raw: int) -> bytes:
    """All values of a byte that are not above this one; odd ones belong to negative deltas."""
    return bytes(range(min(raw, 0xFF) + 1)) + _ODD


def _run_at(data: bytes, start: int, left: int) -> _Run | None:
    """The first record of a run, read strictly, and how many may be alike. None if it is malformed or not plain."""
    try:
        length, attributes = decode_varint(data, start)
        timestamp = attributes + 1
        _, offset = decode_varint(data, timestamp)
        _, key_size = decode_varint(data, offset)
        key_length, key = decode_varint(data, key_size)
        value_size = key + max(key_length, 0)
        value_length, value = decode_varint(data, value_size)
        headers = value + max(value_length, 0)
        if data[headers] != _NO_HEADERS or headers + 1 != attributes + length or offset - timestamp > 2:
            return None
    except (IndexError, ValueError):
        return None
    size = headers + 1 - start
    number = min(left, (len(data) - start) // size)
    # Alike can be those whose size starts with the same byte.
    firsts = data[start : start + (number - 1) * size + 1 : size]
    number -= len(firsts.lstrip(firsts[:1]))
    return _Run(data, start, attributes, timestamp, offset, key_size, key, value_size, value, headers, size, number)
