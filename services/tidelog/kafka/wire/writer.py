"""Generates the function that writes one message in one version.

It mirrors the reader: neighbouring fields of fixed size, and the length after them, are written by one `pack`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from tidelog.kafka.wire import primitives
from tidelog.kafka.wire.fields import Field, Scalar, string, uuid
from tidelog.kafka.wire.source import Source, plain_fields, tagged_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.kafka.wire.schema import Struct

# An empty tag buffer is one zero byte, which is what the struct module writes for padding.
_EMPTY_TAGS = ("x", "")


def compile_writer(owner: type[Struct], version: int, *, flexible: bool) -> Callable[[Any, bytearray], None]:
    return _WriterSource(owner, version, flexible=flexible).build()


class _WriterSource:
    def __init__(self, owner: type[Struct], version: int, *, flexible: bool) -> None:
        self._owner = owner
        self._version = version
        self._flexible = flexible
        self._source = Source("def write(message, out):")
        # The variable that holds what is being written to: the message, or the value of a tagged field.
        self._out = "out"
        # Fields of fixed size that wait to be written together: struct code, and the expression of the value.
        self._run: list[tuple[str, str]] = []
        for name in ("uvarint", "write_tags"):
            self._source.refer(name, getattr(primitives, name))

    def build(self) -> Callable[[Any, bytearray], None]:
        self._struct(self._owner, "message")
        self._flush()
        self._source.line("return")
        return self._source.compiled(f"{self._owner.__name__} v{self._version} writer")

    def _struct(self, owner: type[Struct], value: str) -> None:
        for name, field in plain_fields(owner, self._version):
            self._value(field, f"{value}.{name}")
        if not self._flexible:
            return
        tagged = tagged_fields(owner, self._version)
        if tagged:
            self._tags(owner, tagged, value)
        else:
            self._run.append(_EMPTY_TAGS)

    # ---- runs of fixed size

    def _flush(self) -> None:
        self._write_run(self._run)
        self._run = []

    def _write_run(self, run: list[tuple[str, str]]) -> None:
        if not run:
            return
        codes = "".join(code for code, _ in run)
        values = ", ".join(value for _, value in run if value)
        if codes == "B":
            self._source.line(f"{self._out}.append({values})")
        elif not values:
            self._source.line(f"{self._out} += {bytes(len(codes))!r}")
        else:
            self._source.line(f"{self._out} += {self._source.packer(codes, 'pack')}({values})")

    def _length(self, classic_code: str, measured: str) -> None:
        """Write the length of `measured` together with the run before it."""
        if self._flexible:
            length = self._source.fresh("n")
            self._source.line(f"{length} = len({measured}) + 1")
            with self._source.block(f"if {length} < 128:"):
                self._write_run([*self._run, ("B", length)])
            with self._source.block("else:"):
                self._write_run(self._run)
                self._source.line(f"{self._out} += uvarint({length})")
        else:
            self._write_run([*self._run, (classic_code, f"len({measured})")])
        self._run = []

    # ---- values

    def _value(self, field: Field, value: str) -> None:
        may_be_null = self._version in field.nullable
        if field.is_array:
            self._nullable(value, "i", may_be_null, lambda name: self._array(field.element, name))
        elif not isinstance(field.element, Scalar):
            self._single_struct(field.element, value, may_be_null)
        elif field.element.code:
            self._fixed(field.element, value)
        elif field.element is string:
            self._nullable(value, "h", may_be_null, self._string)
        else:
            self._nullable(value, "i", may_be_null, lambda name: self._bytes("i", name))

    def _fixed(self, element: Scalar[Any], value: str) -> None:
        self._run.append((element.code, f"{value}.bytes" if element is uuid else value))

    def _nullable(self, value: str, classic_code: str, may_be_null: bool, body: Callable[[str], None]) -> None:
        """Write what has a length. Where it may be null, both branches write the run that came before."""
        name = self._source.fresh("v")
        self._source.line(f"{name} = {value}")
        if not may_be_null:
            body(name)
            return
        before = self._run
        with self._source.block(f"if {name} is None:"):
            self._write_run([*before, ("B", "0") if self._flexible else (classic_code, "-1")])
        with self._source.block("else:"):
            body(name)
            self._flush()

    def _string(self, value: str) -> None:
        encoded = self._source.fresh("s")
        self._source.line(f'{encoded} = {value}.encode("utf-8", "replace")')
        self._bytes("h", encoded)

    def _bytes(self, classic_code: str, value: str) -> None:
        self._length(classic_code, value)
        self._source.line(f"{self._out} += {value}")

    def _array(self, element: Scalar[Any] | type[Struct], value: str) -> None:
        self._length("i", value)
        if isinstance(element, Scalar) and element.code and element is not uuid:
            packers = self._source.repeated(element.code, "pack")
            with self._source.block(f"if {value}:"):
                self._source.line(f"{self._out} += {packers}[len({value})](*{value})")
            return
        member = self._source.fresh("m")
        with self._source.block(f"for {member} in {value}:"):
            if not isinstance(element, Scalar):
                self._struct(element, member)
            elif element.code:
                self._fixed(element, member)
            elif element is string:
                self._string(member)
            else:
                self._bytes("i", member)
            self._flush()

    def _single_struct(self, element: type[Struct], value: str, may_be_null: bool) -> None:
        name = self._source.fresh("v")
        self._source.line(f"{name} = {value}")
        if not may_be_null:
            self._struct(element, name)
            return
        self._flush()
        with self._source.block(f"if {name} is None:"):
            self._write_run([("b", "-1")])
        with self._source.block("else:"):
            self._run.append(("b", "1"))
            self._struct(element, name)
            self._flush()

    # ---- tag buffers

    def _tags(self, owner: type[Struct], tagged: list[tuple[str, Field]], value: str) -> None:
        self._flush()
        found, outer = self._source.fresh("t"), self._out
        self._source.line(f"{found} = []")
        for name, field in tagged:
            with self._source.block(f"if {self._differs(owner, name, field, f'{value}.{name}')}:"):
                self._out = self._source.fresh("b")
                self._source.line(f"{self._out} = bytearray()")
                self._value(field, f"{value}.{name}")
                self._flush()
                self._source.line(f"{found}.append(({field.tag}, {self._out}))")
                self._out = outer
        self._source.line(f"write_tags({self._out}, {found})")

    def _differs(self, owner: type[Struct], name: str, field: Field, value: str) -> str:
        """The condition under which a tagged field is written at all."""
        if field.default is None:
            return f"{value} is not None"
        if isinstance(field.default, list):
            return value
        if isinstance(field.default, UUID):
            return f"{value} != {self._source.refer(f'{owner.__name__}_{name}', field.default)}"
        return f"{value} != {field.default!r}"
