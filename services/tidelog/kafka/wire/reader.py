"""Generates the function that reads one message in one version.

Neighbouring fields of fixed size are read by one `unpack_from`, and so is the length that follows them. A length in a
flexible version is a varint, mostly of one byte: its first byte joins the run, and a rare branch reads the rest. Every
length is held against the end of the data before anything is made of it, so a lying one costs nothing.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any
from uuid import UUID

from tidelog.kafka.wire import primitives
from tidelog.kafka.wire.fields import Field, Scalar, byte_string, string, uuid
from tidelog.kafka.wire.source import Source, fixed_size, plain_fields, tagged_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.kafka.wire.schema import Struct


def compile_reader(owner: type[Struct], version: int, *, flexible: bool) -> Callable[[bytes, int], Any]:
    return _ReaderSource(owner, version, flexible=flexible).build()


class _ReaderSource:
    def __init__(self, owner: type[Struct], version: int, *, flexible: bool) -> None:
        self._owner = owner
        self._version = version
        self._flexible = flexible
        self._source = Source("def read(data, at):")
        # Fields of fixed size that wait to be read together: struct code, and where the value goes.
        self._run: list[tuple[str, str]] = []
        self._after_run: list[str] = []
        for name in ("misfit", "skip_tags", "uvarint_rest"):
            self._source.refer(name, getattr(primitives, name))
        self._source.refer("new", object.__new__)
        self._source.refer("UUID", UUID)

    def build(self) -> Callable[[bytes, int], Any]:
        self._source.line("end = len(data)")
        message = self._struct(self._owner, self._owner.__name__)
        self._source.line(f"return {message}")
        return self._source.compiled(f"{self._owner.__name__} v{self._version} reader")

    def _struct(self, owner: type[Struct], path: str) -> str:
        """Read a struct into a new variable; gives its name."""
        target = self._source.fresh("o")
        self._source.line(f"{target} = new({self._source.refer(owner.__name__, owner)})")
        self._defaults(owner, target)
        for name, field in plain_fields(owner, self._version):
            self._value(field, f"{target}.{name}", f"{path}.{name}")
        if self._flexible:
            self._tags(owner, target, path)
        self._flush()
        return target

    def _defaults(self, owner: type[Struct], target: str) -> None:
        for name, field in owner.fields.items():
            if field.tag is not None or self._version not in field.versions:
                self._source.line(f"{target}.{name} = {self._default(owner, name, field)}")

    def _default(self, owner: type[Struct], name: str, field: Field) -> str:
        if isinstance(field.default, list):
            return "[]"
        if isinstance(field.default, UUID):
            return self._source.refer(f"{owner.__name__}_{name}", field.default)
        return repr(field.default)

    # ---- runs of fixed size

    def _fixed(self, element: Scalar[Any], target: str) -> None:
        if element is uuid:
            raw = self._source.fresh("u")
            self._run.append((element.code, raw))
            self._after_run.append(f"{target} = UUID(bytes={raw})")
        else:
            self._run.append((element.code, target))

    def _flush(self) -> None:
        if not self._run:
            return
        codes = "".join(code for code, _ in self._run)
        targets = ", ".join(target for _, target in self._run)
        if codes == "B":
            self._source.line(f"{targets} = data[at]")
        else:
            self._source.line(f"{targets}, = {self._source.packer(codes, 'unpack_from')}(data, at)")
        self._source.line(f"at += {struct.calcsize('>' + codes)}")
        for line in self._after_run:
            self._source.line(line)
        self._run.clear()
        self._after_run.clear()

    def _length(self, classic_code: str) -> str:
        """Read a length, with the run before it. In flexible versions it is one too high, and zero means null."""
        length = self._source.fresh("n")
        self._run.append(("B" if self._flexible else classic_code, length))
        self._flush()
        if self._flexible:
            self._varint_rest(length)
        return length

    def _varint_rest(self, length: str) -> None:
        with self._source.block(f"if {length} > 127:"):
            self._source.line(f"{length}, at = uvarint_rest(data, at, {length})")

    # ---- values

    def _value(self, field: Field, target: str, path: str) -> None:
        may_be_null = self._version in field.nullable
        if field.is_array:
            self._sized("i", target, path, may_be_null, lambda n: self._array(field, n, target, path))
        elif not isinstance(field.element, Scalar):
            self._single_struct(field.element, target, path, may_be_null)
        elif field.element.code:
            self._fixed(field.element, target)
        else:
            self._text(field.element, target, path, may_be_null)

    def _text(self, element: Scalar[Any], target: str, path: str, may_be_null: bool) -> None:
        assert element in (string, byte_string)
        # Malformed UTF-8 becomes U+FFFD, as in Kafka: no name with it is valid, and it can be logged and sent back.
        convert = '.decode("utf-8", "replace")' if element is string else ""
        code = "h" if element is string else "i"

        def take(length: str) -> None:
            self._source.line(f"stop = at + {length}")
            with self._source.block("if stop > end:"):
                self._source.line(f"raise misfit({path!r}, {length})")
            self._source.line(f"{target} = data[at:stop]{convert}")
            self._source.line("at = stop")

        self._sized(code, target, path, may_be_null, take)

    def _sized(self, code: str, target: str, path: str, may_be_null: bool, body: Callable[[str], None]) -> None:
        """Read a length and, unless it says null, what it is the length of."""
        length = self._length(code)
        if self._flexible:
            self._source.line(f"{length} -= 1")
        if may_be_null:
            with self._source.block(f"if {length} == -1:"):
                self._source.line(f"{target} = None")
        else:
            with self._source.block(f"if {length} == -1:"):
                self._source.line(f"raise misfit({path!r}, -1)")
        with self._source.block("else:"):
            if not self._flexible:
                with self._source.block(f"if {length} < 0:"):
                    self._source.line(f"raise misfit({path!r}, {length})")
            body(length)

    def _array(self, field: Field, length: str, target: str, path: str) -> None:
        element = field.element
        least = self._least_size(element)
        with self._source.block(f"if {length} * {least} > end - at:"):
            self._source.line(f"raise misfit({path!r}, {length})")
        if isinstance(element, Scalar) and element.code and element is not uuid:
            unpackers = self._source.repeated(element.code, "unpack_from")
            self._source.line(f"{target} = list({unpackers}[{length}](data, at)) if {length} else []")
            self._source.line(f"at += {length} * {least}")
            return
        members = self._source.fresh("a")
        self._source.line(f"{target} = {members} = []")
        with self._source.block(f"for _ in range({length}):"):
            self._source.line(f"{members}.append({self._member(element, path)})")

    def _member(self, element: Scalar[Any] | type[Struct], path: str) -> str:
        if not isinstance(element, Scalar):
            return self._struct(element, path)
        member = self._source.fresh("m")
        if element.code:
            self._fixed(element, member)
            self._flush()
        else:
            self._text(element, member, path, may_be_null=False)
        return member

    def _least_size(self, element: Scalar[Any] | type[Struct]) -> int:
        """The fewest bytes that a value can take, by which a count is held against the end of the data."""
        if isinstance(element, Scalar):
            return fixed_size(element) or (1 if self._flexible else 2 if element is string else 4)
        size = 1 if self._flexible else 0
        for _, field in plain_fields(element, self._version):
            if field.is_array:
                size += 1 if self._flexible else 4
            elif isinstance(field.element, Scalar) or self._version not in field.nullable:
                size += self._least_size(field.element)
            else:
                size += 1
        assert size > 0, f"{element.__name__} v{self._version} takes no bytes, so its count cannot be checked"
        return size

    def _single_struct(self, element: type[Struct], target: str, path: str, may_be_null: bool) -> None:
        self._flush()
        if not may_be_null:
            self._source.line(f"{target} = {self._struct(element, path)}")
            return
        presence = self._source.fresh("p")
        self._run.append(("b", presence))
        self._flush()
        with self._source.block(f"if {presence} < 0:"):
            self._source.line(f"{target} = None")
        with self._source.block("else:"):
            self._source.line(f"{target} = {self._struct(element, path)}")

    # ---- tag buffers

    def _tags(self, owner: type[Struct], target: str, path: str) -> None:
        count = self._source.fresh("n")
        self._run.append(("B", count))
        self._flush()
        with self._source.block(f"if {count}:"):
            self._varint_rest(count)
            known = tagged_fields(owner, self._version)
            if not known:
                self._source.line(f"at = skip_tags(data, at, {count})")
                return
            with self._source.block(f"for _ in range({count}):"):
                self._tag(known, target, path)

    def _tag(self, known: list[tuple[str, Field]], target: str, path: str) -> None:
        tag, size, stop = self._source.fresh("t"), self._source.fresh("n"), self._source.fresh("e")
        for number in (tag, size):
            self._run.append(("B", number))
            self._flush()
            self._varint_rest(number)
        self._source.line(f"{stop} = at + {size}")
        with self._source.block(f"if {stop} > end:"):
            self._source.line(f"raise misfit({path!r}, {size})")
        for position, (name, field) in enumerate(known):
            with self._source.block(f"{'el' if position else ''}if {tag} == {field.tag}:"):
                self._value(field, f"{target}.{name}", f"{path}.{name}")
                self._flush()
                with self._source.block(f"if at != {stop}:"):
                    self._source.line(f"raise misfit({path + '.' + name!r}, {size})")
        with self._source.block("else:"):
            self._source.line(f"at = {stop}")
