"""How a schema declares a field: its type, the versions that have it, where it may be null, its tag and its default.

    name: str | None = string("1+", nullable="10+")

The declared default stands in every version that lacks the field, and in every message built without naming it. A
tagged field (`tag=`) is written only where it differs from its default; a tagged struct is None where it is absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, overload

from tidelog.kafka.wire.primitives import ZERO_UUID
from tidelog.kafka.wire.versions import Versions, parse_versions

if TYPE_CHECKING:
    from uuid import UUID

    from tidelog.kafka.wire.schema import Struct

T = TypeVar("T")
S = TypeVar("S", bound="Struct")


class _Unset:
    """The absence of a default; None is a default of its own."""


UNSET: Final = _Unset()


@dataclass(frozen=True, slots=True)
class Field:
    """One declared field. `element` is the type of the value, or of each member of an array."""

    element: Scalar[Any] | type[Struct]
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    default: object


def _declare(
    element: Scalar[Any] | type[Struct],
    versions: str,
    nullable: str,
    tag: int | None,
    default: object,
    *,
    is_array: bool = False,
) -> Field:
    return Field(element, is_array, parse_versions(versions), parse_versions(nullable), tag, default)


class Scalar(Generic[T]):
    """A type without parts. Called in a schema, it declares a field of its type.

    `code` is the type's letter in the struct module, and empty where the length varies.
    """

    def __init__(self, name: str, code: str, default: T) -> None:
        self.name = name
        self.code = code
        self.default = default

    def __call__(
        self, versions: str = "0+", *, nullable: str = "", tag: int | None = None, default: T | _Unset | None = UNSET
    ) -> T:
        value = self.default if isinstance(default, _Unset) else default
        declared: Any = _declare(self, versions, nullable, tag, value)
        return declared  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return self.name


boolean = Scalar[bool]("bool", "?", default=False)
int8 = Scalar[int]("int8", "b", 0)
int16 = Scalar[int]("int16", "h", 0)
int32 = Scalar[int]("int32", "i", 0)
int64 = Scalar[int]("int64", "q", 0)
float64 = Scalar[float]("float64", "d", 0.0)
uuid: Scalar[UUID] = Scalar("uuid", "16s", ZERO_UUID)
string = Scalar[str]("string", "", "")
# Record batches are bytes to this codec, and so one type with them.
byte_string = Scalar[bytes]("bytes", "", b"")


@overload
def array(
    element: Scalar[T],
    versions: str = "0+",
    *,
    nullable: str = "",
    tag: int | None = None,
    default: _Unset | None = UNSET,
) -> list[T]: ...
@overload
def array(
    element: type[S],
    versions: str = "0+",
    *,
    nullable: str = "",
    tag: int | None = None,
    default: _Unset | None = UNSET,
) -> list[S]: ...
def array(
    element: Scalar[Any] | type[Struct],
    versions: str = "0+",
    *,
    nullable: str = "",
    tag: int | None = None,
    default: _Unset | None = UNSET,
) -> Any:
    value: list[Any] | None = None if default is None else []
    return _declare(element, versions, nullable, tag, value, is_array=True)


def struct(element: type[S], versions: str = "0+", *, nullable: str = "", tag: int | None = None) -> S:
    """A single struct in place; None stands for it where the version has none, the tag is absent, or it is null."""
    declared: Any = _declare(element, versions, nullable, tag, None)
    return declared  # type: ignore[no-any-return]
