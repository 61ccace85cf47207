"""Records as coordinators store them, and logs with everything that a dump can show."""

import struct
from dataclasses import replace
from pathlib import Path

from tests.support.batches import batch
from tests.support.cleaning import ForgetfulFiles, clean_all, end_transaction, put
from tests.support.logs import NOW, SMALL, LogOnDisk, append
from tidelog.broker.log.log import Log
from tidelog.kafka.records.compression import Codec
from tidelog.kafka.records.control import MarkerType
from tidelog.kafka.records.header import LOG_APPEND_TIME
from tidelog.kafka.records.record import Record

Topics = list[tuple[str, list[int]]]
PARTITIONS: Topics = [("orders", [0, 1, 2, 5]), ("bills", [3]), ("__consumer_offsets", [17])]


def text(value: str | None) -> bytes:
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value.encode())) + value.encode()


def sized(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def listed(items: list[bytes]) -> bytes:
    return struct.pack(">i", len(items)) + b"".join(items)


def topics(found: Topics) -> bytes:
    return listed([text(topic) + listed([struct.pack(">i", p) for p in partitions]) for topic, partitions in found])


def offset_key(group: str, topic: str, partition: int, version: int = 1) -> bytes:
    return struct.pack(">h", version) + text(group) + text(topic) + struct.pack(">i", partition)


def offset_value(version: int, offset: int, metadata: str) -> bytes:
    head = struct.pack(">hq", version, offset) + (struct.pack(">i", 7) if version >= 3 else b"")
    if version >= 4:
        return head + bytes([len(metadata) + 1]) + metadata.encode() + struct.pack(">q", NOW) + b"\0"
    tail = struct.pack(">q", NOW + 5) if version == 1 else b""
    return head + text(metadata) + struct.pack(">q", NOW) + tail


def group_key(group: str) -> bytes:
    return struct.pack(">h", 2) + text(group)


def subscription(version: int) -> bytes:
    data = struct.pack(">h", version) + listed([text("a"), text("b")]) + sized(b"user" if version else None)
    data += topics([("a", [0, 1])]) if version >= 1 else b""
    data += struct.pack(">i", 5) if version >= 2 else b""
    return data + (text("rack") if version >= 3 else b"")


def assignment() -> bytes:
    return struct.pack(">h", 3) + topics([("a", [0, 1]), ("b", [2])]) + sized(b"xx")


def group_value(version: int, protocol_type: str, members: list[tuple[str, bytes, bytes]]) -> bytes:
    data = struct.pack(">h", version) + text(protocol_type) + struct.pack(">i", 3) + text("range") + text(None)
    data += struct.pack(">q", NOW) if version >= 2 else b""
    return data + listed([_member(version, *member) for member in members])


def _member(version: int, member_id: str, subscribed: bytes, assigned: bytes) -> bytes:
    data = text(member_id) + (text("instance") if version >= 3 else b"") + text("client") + text("/127.0.0.1")
    data += struct.pack(">i", 30_000) if version >= 1 else b""
    return data + struct.pack(">i", 10_000) + sized(subscribed) + sized(assigned)


def transaction_key(transactional_id: str) -> bytes:
    return struct.pack(">h", 0) + text(transactional_id)


def transaction_value(state: int, partitions: Topics | None) -> bytes:
    named = struct.pack(">i", -1) if partitions is None else topics(partitions)
    return struct.pack(">hqhib", 0, 5, 2, 60_000, state) + named + struct.pack(">qq", NOW, NOW - 5)


def offsets_log(directory: Path) -> None:
    """Every kind and version of what the coordinator of classic groups writes, and some that nobody can read."""
    log = LogOnDisk(directory, files=ForgetfulFiles()).open()
    append_one(log, *((offset_key("g", "t", v), offset_value(v, 100 + v, 'said "no" \\ \t \x1f')) for v in range(4)))
    append_one(log, (offset_key("g", "t", 4), offset_value(4, 104, "plain")))
    append_one(log, (offset_key("g", "t", 0, 0), None), (offset_key("g\u00e9", "t", 0), offset_value(3, 1, "")))
    for version in range(4):
        append_one(
            log,
            (group_key("g"), group_value(version, "consumer", [(f"m{version}", subscription(version), assignment())])),
        )
    append_one(log, (group_key("h"), group_value(3, "connect", [("m", subscription(1), b"")])))
    append_one(log, (group_key("i"), group_value(3, "consumer", [("m", b"?", b"")])), (group_key("g"), None))
    append_one(log, (struct.pack(">h", 99) + b"xx", b"v"), (b"\0", b"v"), (offset_key("g", "t", 1)[:6], b"v"))
    append_one(log, (group_key("g"), struct.pack(">h", 77) + b"zz"))
    log.close()


def transactions_log(directory: Path) -> None:
    log = LogOnDisk(directory, files=ForgetfulFiles()).open()
    for state in range(8):
        append_one(log, (transaction_key(f"tx {state}"), transaction_value(state, PARTITIONS if state else None)))
    many = [(f"topic-{n}", list(range(n % 6 + 1))) for n in range(20)]
    append_one(log, (transaction_key("many"), transaction_value(1, many)), (transaction_key("gone"), None))
    append_one(log, (struct.pack(">h", 5) + b"x", None))
    log.close()


def append_one(log: Log, *pairs: tuple[bytes | None, bytes | None]) -> None:
    append(log, batch(*(Record(key, value, NOW) for key, value in pairs)))


def plain_log(directory: Path) -> None:
    """All codecs, headers, nulls, bytes that are no text, transactions, sequences that wrap; rolled several times."""
    log = LogOnDisk(directory, replace(SMALL, segment_bytes=5000), ForgetfulFiles()).open()
    for codec in Codec:
        append(log, batch(*map(_record, range(7)), codec=codec))
    append(log, batch(Record(b"k\xff\xc3", b"\xe2\x82 bad", NOW + 1000), Record(b"", b"", NOW)))
    for producer in (1, 2, 3):
        put(log, ("a", "1"), ("b", "2"), producer=producer, sequence=0, transactional=1)
    end_transaction(log, 1, MarkerType.ABORT)
    end_transaction(log, 2, MarkerType.COMMIT)
    for n in range(120):
        put(log, (f"key{n % 20}", "v" * (n % 50)), producer=9, sequence=n)
    end_transaction(log, 3, MarkerType.ABORT)
    record = Record(b"w", b"w", NOW + 5)
    append(log, batch(record, record, producer=(77, 3), sequence=2**31 - 1))
    made = batch(record, attributes=LOG_APPEND_TIME, base_offset=log.log_end_offset, max_timestamp=NOW + 2000)
    log.append_as_follower(bytearray(made), NOW)
    log.close()


def _record(n: int) -> Record:
    headers = [(b"h%d" % i, b"x" * i if i else None) for i in range(n % 3)]
    return Record(b"k%d" % n if n % 3 else None, b"value %d" % n if n % 4 else None, NOW + n * 10, headers)


def compacted_log(directory: Path) -> None:
    """Cleaned twice, so that it has tombstones with and without a horizon behind them, gaps, and empty batches."""
    log = LogOnDisk(directory, replace(SMALL, segment_bytes=5000, compact=True), ForgetfulFiles()).open()
    for n in range(200):
        value = None if n % 11 == 0 else "v" * (n % 50)
        put(log, (f"key{n % 20}", value), (f"two{n % 7}", "2"), codec=Codec(n % 5), producer=9, sequence=2 * n)
    for producer, kind in ((1, MarkerType.ABORT), (2, MarkerType.COMMIT)):
        put(log, ("a", "1"), ("b", "2"), producer=producer, sequence=0, transactional=1)
        end_transaction(log, producer, kind)
        put(log, ("a", "3"), ("b", "4"))
    clean_all(log)
    put(log, ("a", "5"), ("key1", None))
    clean_all(log, NOW + 10**9)
    put(log, ("tail", None))
    put(log, ("tail", "x"))
    clean_all(log, NOW + 10**9)
    put(log, ("end", "x"))
    log.close()
    for removed in directory.glob("*.deleted"):
        removed.unlink()
