"""Lines become records, and records lines."""

import pytest

from tidelog.cli.kafka_tools.console_producer import line_format
from tidelog.cli.kafka_tools.formatters import printer
from tidelog.cli.record_text import LineFormat, compiled_format, record_document
from tidelog.client.records import ConsumerRecord, TimestampType
from tidelog.local.faults import WrongUsageError


def record(
    key: bytes | None = b"k", value: bytes | None = b"v", headers: tuple[tuple[str, bytes | None], ...] = ()
) -> ConsumerRecord:
    return ConsumerRecord("orders", 2, 7, 1000, TimestampType.CREATE_TIME, key, value, headers, 0)


def test_a_line_is_a_value_unless_it_has_a_key() -> None:
    assert LineFormat().parse("a:b", 1) == (None, b"a:b", [])
    assert LineFormat(key_separator=":").parse("a:b:c", 1) == (b"a", b"b:c", [])


def test_a_line_without_its_separator_is_named() -> None:
    with pytest.raises(WrongUsageError, match=r"Line 3 .*'oops'"):
        LineFormat(key_separator=":").parse("oops", 3)


def test_the_properties_of_kafkas_reader() -> None:
    form = line_format(
        {
            "parse.key": "true",
            "key.separator": ":",
            "parse.headers": "true",
            "null.marker": "NULL",
            "ignore.error": "true",
        }
    )
    assert form.parse("a:1,b:2\tk:NULL", 1) == (b"k", None, [("a", b"1"), ("b", b"2")])
    assert form.parse("only", 2) == (None, b"only", [])


def test_formats_of_kcat() -> None:
    assert compiled_format("%t-%p@%o %k=%s %T %K/%S 100%%\\n")(record()) == b"orders-2@7 k=v 1000 1/1 100%\n"
    assert compiled_format("%h")(record(headers=(("a", b"1"), ("b", None)))) == b"a=1,b="
    with pytest.raises(WrongUsageError, match="%q"):
        compiled_format("%q")


def test_bytes_that_are_no_text_are_base64_in_json() -> None:
    document = record_document(record(key=b"\xff", value=None, headers=(("h", b"x"),)))
    assert document["key_base64"] == "/w=="
    assert document["value"] is None
    assert document["headers"] == [{"name": "h", "value": "x"}]


def test_kafkas_default_formatter() -> None:
    everything = {f"print.{name}": "true" for name in ("key", "timestamp", "partition", "offset", "headers")}
    printed = printer(None, everything, {})(record(key=None, headers=(("a", b"1"),)))
    assert printed == b"CreateTime:1000\tPartition:2\tOffset:7\ta:1\tnull\tv\n"
    assert printer(None, {"print.value": "false", "print.key": "true"}, {})(record()) == b"k\n"


def test_numbers_are_deserialized() -> None:
    name = "org.apache.kafka.common.serialization.LongDeserializer"
    assert printer(None, {}, {"value": name})(record(value=(-5).to_bytes(8, "big", signed=True))) == b"-5\n"


def test_the_formatter_of_offsets_under_all_its_names() -> None:
    key = b"\0\1" + b"\0\1g" + b"\0\1t" + (3).to_bytes(4, "big")
    value = b"\0\3" + (42).to_bytes(8, "big") + (1).to_bytes(4, "big") + b"\0\0" + (99).to_bytes(8, "big")
    for name in (
        "kafka.coordinator.GroupMetadataManager$OffsetsMessageFormatter",
        "kafka.coordinator.group.GroupMetadataManager\\$OffsetsMessageFormatter",
    ):
        line = printer(name, {}, {})(record(key, value)).decode()
        assert line.startswith("[g,t,3]::OffsetAndMetadata(offset=42, leaderEpoch=Optional[1], metadata=, ")
        assert line.endswith("commitTimestamp=99, expireTimestamp=None)\n")
    assert printer("OffsetsMessageFormatter", {}, {})(record(key, None)) == b"[g,t,3]::NULL\n"
    with pytest.raises(WrongUsageError, match="not known"):
        printer("my.Formatter", {}, {})
