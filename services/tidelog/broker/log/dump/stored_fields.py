"""Reads the fields of a record that a coordinator stored: a version, and then classic or flexible fields."""

from struct import Struct, error
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_INT8, _INT16, _INT32, _INT64 = Struct(">b"), Struct(">h"), Struct(">i"), Struct(">q")


class MalformedError(Exception):
    """The bytes do not hold what their version says."""


class EndedEarlyError(MalformedError):
    """A number is cut short, for which Kafka has no words of its own."""


class StoredFields:
    """A position in the bytes of a key or a value. `flexible` fields have lengths of variable size, and tags."""

    def __init__(self, data: bytes, *, flexible: bool = False) -> None:
        self._data = data
        self._at = 0
        self.flexible = flexible

    def _number(self, kind: Struct) -> int:
        try:
            (value,) = kind.unpack_from(self._data, self._at)
        except error:
            raise EndedEarlyError(f"it ends after {len(self._data)} bytes") from None
        self._at += kind.size
        return int(value)

    def int8(self) -> int:
        return self._number(_INT8)

    def int16(self) -> int:
        return self._number(_INT16)

    def int32(self) -> int:
        return self._number(_INT32)

    def int64(self) -> int:
        return self._number(_INT64)

    def _uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.int8() & 0xFF
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 28:
                raise MalformedError("a length has too many bytes")

    def _taken(self, size: int) -> bytes:
        left = len(self._data) - self._at
        if size > left:
            raise MalformedError(f"Error reading byte array of {size} byte(s): only {left} byte(s) available")
        self._at += size
        return self._data[self._at - size : self._at]

    def nullable_string(self) -> str | None:
        size = self._uvarint() - 1 if self.flexible else self.int16()
        return None if size < 0 else self._taken(size).decode("utf-8", "replace")

    def string(self) -> str:
        text = self.nullable_string()
        if text is None:
            raise MalformedError("a text is null that must not be")
        return text

    def nullable_data(self) -> bytes | None:
        size = self._uvarint() - 1 if self.flexible else self.int32()
        return None if size < 0 else self._taken(size)

    def data(self) -> bytes:
        found = self.nullable_data()
        if found is None:
            raise MalformedError("bytes are null that must not be")
        return found

    def nullable_array(self, element: "Callable[[], T]") -> list[T] | None:
        count = self._uvarint() - 1 if self.flexible else self.int32()
        if count > len(self._data) - self._at:
            raise MalformedError(f"{count} elements where {len(self._data) - self._at} bytes are left")
        return None if count < 0 else [element() for _ in range(count)]

    def array(self, element: "Callable[[], T]") -> list[T]:
        found = self.nullable_array(element)
        if found is None:
            raise MalformedError("an array is null that must not be")
        return found

    def tags(self) -> None:
        """The end of a struct: none of these records has tags that mean something."""
        if self.flexible:
            for _ in range(self._uvarint()):
                self._uvarint()
                self._taken(self._uvarint())
