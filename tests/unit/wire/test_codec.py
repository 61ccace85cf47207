"""The codec on schemas made for the purpose: nulls, tags, nested structs, defaults, text that is no UTF-8."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.support.kio_oracle import known_apis
from tidelog.kafka.wire.fields import Field, array, boolean, byte_string, int8, int32, int64, string, struct, uuid
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.kafka.wire.schema import Api, Message, Request, Response, Struct
from tidelog.kafka.wire.versions import parse_versions

EXAMPLE = Api(9999, "Example", versions="0-4", flexible="2+")


class Leaf(Struct):
    number: int = int32(default=-1)
    text: str | None = string("1+", nullable="1+", default=None)
    mark: int = int8("2+", tag=3, default=7)


class ExampleRequest(Request["ExampleResponse"], api=EXAMPLE):
    leaf: Leaf | None = struct(Leaf, "3+", nullable="3+")
    leaves: list[Leaf] | None = array(Leaf, nullable="1+")
    numbers: list[int] = array(int64)
    texts: list[str] = array(string)
    blobs: list[bytes] = array(byte_string, "1+")
    ids: list[UUID] = array(uuid, "1+")
    flag: bool = boolean(default=True)
    tagged_text: str | None = string("2+", tag=0, nullable="2+", default=None)
    tagged_leaf: Leaf | None = struct(Leaf, "2+", tag=1)
    tagged_leaves: list[Leaf] = array(Leaf, "2+", tag=2)
    tagged_id: UUID = uuid("2+", tag=200)


class ExampleResponse(Response, api=EXAMPLE):
    fixed: Leaf | None = struct(Leaf, "1+")


FULL = ExampleRequest(
    leaf=Leaf(number=5, text="leaf", mark=9),
    leaves=[Leaf(number=1, text="one"), Leaf(number=2, text=None, mark=-1)],
    numbers=[2**63 - 1, -(2**63)],
    texts=["", "naïve", "x" * 200],
    blobs=[b"", b"\0" * 300],
    ids=[UUID(int=1), UUID(int=2**128 - 1)],
    flag=False,
    tagged_text="tag",
    tagged_leaf=Leaf(number=3, text="", mark=1),
    tagged_leaves=[Leaf(number=n) for n in range(200)],
    tagged_id=UUID(int=77),
)


@pytest.mark.parametrize("version", [3, 4])
def test_every_kind_of_field_comes_back(version: int) -> None:
    assert ExampleRequest.decode(version, FULL.encode(version)) == FULL


@pytest.mark.parametrize("version", range(5))
def test_defaults_stand_where_a_version_lacks_the_field(version: int) -> None:
    got = ExampleRequest.decode(version, FULL.encode(version))
    assert got.numbers == FULL.numbers
    assert got.flag is False
    assert (got.leaf is None) == (version < 3)
    assert got.blobs == (FULL.blobs if version >= 1 else [])
    assert got.tagged_leaves == (FULL.tagged_leaves if version >= 2 else [])
    assert got.leaves is not None
    assert [leaf.mark for leaf in got.leaves] == ([7, -1] if version >= 2 else [7, 7])
    assert [leaf.text for leaf in got.leaves] == (["one", None] if version >= 1 else [None, None])


@pytest.mark.parametrize("version", range(5))
def test_a_memoryview_and_an_offset_will_do_and_bytes_after_the_end_are_ignored(version: int) -> None:
    data = memoryview(bytearray(b"head" + FULL.encode(version) + b"tail"))
    assert ExampleRequest.decode(version, data, 4) == ExampleRequest.decode(version, FULL.encode(version))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_null_is_not_empty(version: int) -> None:
    leaves: list[Leaf] | None
    for leaves in (None, []):
        assert ExampleRequest.decode(version, ExampleRequest(leaves=leaves).encode(version)).leaves == leaves


def test_a_single_struct_lies_in_place() -> None:
    response = ExampleResponse(fixed=Leaf(number=1, text="a"))
    assert response.encode(1) == b"\0\0\0\1\0\1a"
    assert ExampleResponse.decode(1, response.encode(1)) == response


def test_a_tagged_field_that_has_its_default_is_not_written() -> None:
    assert ExampleResponse(fixed=Leaf(number=1, text="a", mark=7)).encode(2) == b"\0\0\0\1\2a\0\0"
    assert ExampleResponse(fixed=Leaf(number=1, text="a", mark=8)).encode(2) == b"\0\0\0\1\2a\1\3\1\x08\0"


@pytest.mark.parametrize(
    "tags",
    [b"\x01\x64\x03abc", b"\x02\x64\x01a\x64\x01b", b"\x02\x65\x01a\x64\x01b", b"\x01\xe8\x07\x00"],
    ids=["one", "the same twice", "out of order", "a large tag"],
)
def test_unknown_tags_are_skipped(tags: bytes) -> None:
    # In a struct that knows a tag, and in one that knows none.
    assert ExampleResponse.decode(2, b"\0\0\0\1\2a" + tags + tags).fixed == Leaf(number=1, text="a")


def test_a_known_tag_among_unknown_ones_is_read() -> None:
    data = b"\0\0\0\1\2a" + b"\x03\x01\x02xx\x03\x01\x05\x09\x00" + b"\0"
    assert ExampleResponse.decode(2, data).fixed == Leaf(number=1, text="a", mark=5)


def test_a_tagged_field_must_be_as_long_as_it_says() -> None:
    with pytest.raises(MalformedMessage, match="mark"):
        ExampleResponse.decode(2, b"\0\0\0\1\2a" + b"\x01\x03\x02\x05\x05" + b"\0")


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    got = ExampleResponse.decode(1, b"\0\0\0\1\0\5a\xff\xfeb\xc3")
    assert got.fixed is not None
    assert got.fixed.text == "a\ufffd\ufffdb\ufffd"
    assert got.encode(1)  # and can be sent back


def test_lone_surrogates_do_not_break_an_answer() -> None:
    assert ExampleResponse(fixed=Leaf(text="a\ud800")).encode(1)[4:] == b"\0\2a?"


def test_messages_compare_by_value_show_their_fields_and_cannot_be_hashed() -> None:
    assert Leaf(number=1) == Leaf(number=1) != Leaf(number=2)
    assert Leaf(number=1) != ExampleResponse()
    assert repr(Leaf(number=1)) == "Leaf(number=1, text=None, mark=7)"
    with pytest.raises(TypeError):
        hash(Leaf())


def test_lists_are_not_shared_between_messages() -> None:
    first, second = ExampleRequest(), ExampleRequest()
    first.numbers.append(1)
    assert second.numbers == []
    data = ExampleRequest().encode(0)
    ExampleRequest.decode(0, data).blobs.append(b"")
    assert ExampleRequest.decode(0, data).blobs == []


def test_a_misspelt_field_is_refused() -> None:
    with pytest.raises(TypeError, match="nmber"):
        Leaf(nmber=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Leaf().nmber = 1  # type: ignore[attr-defined]


def test_a_version_out_of_range_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="no version 5"):
        ExampleRequest().encode(5)
    with pytest.raises(AssertionError, match="no version 5"):
        ExampleRequest.decode(5, b"")


@pytest.mark.parametrize(
    ("text", "inside", "outside"), [("3+", [3, 99], [2]), ("1-2", [1, 2], [0, 3]), ("4", [4], [5])]
)
def test_versions(text: str, inside: list[int], outside: list[int]) -> None:
    versions = parse_versions(text)
    assert all(version in versions for version in inside)
    assert all(version not in versions for version in outside)
    assert 0 not in parse_versions("")


MESSAGES = [message for api in known_apis() for message in (api.request, api.response)]


def structs_of(owner: type[Struct]) -> list[type[Struct]]:
    inner = [f.element for f in owner.fields.values() if isinstance(f.element, type)]
    return [owner, *(found for one in inner for found in structs_of(one))]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: m.__name__)
def test_a_field_is_declared_none_exactly_where_it_can_be_none(message: type[Message]) -> None:
    for owner in structs_of(message):
        for name, field in owner.fields.items():
            declared = str(owner.__annotations__[name])
            assert ("None" in declared) == can_be_none(field), f"{owner.__name__}.{name}: {declared}"


def can_be_none(field: Field) -> bool:
    return field.default is None or field.nullable.high >= field.nullable.low
