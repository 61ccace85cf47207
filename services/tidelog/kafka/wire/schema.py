"""Messages are classes: a schema declares the fields, and the class is both the schema and the decoded message.

    METADATA = Api(3, "Metadata", versions="0-12", flexible="9+")

    class MetadataRequest(Request["MetadataResponse"], api=METADATA):
        topics: list[TopicAsked] | None = array(TopicAsked, nullable="1+")

Fields are in the order of the wire. Instances have slots, take keyword arguments and fill in defaults. Per version, a
message is read and written by two functions that are generated from the schema when they are first wanted.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, dataclass_transform

from tidelog.kafka.wire.fields import UNSET, Field
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.kafka.wire.reader import compile_reader
from tidelog.kafka.wire.versions import Versions, parse_versions
from tidelog.kafka.wire.writer import compile_writer

if TYPE_CHECKING:
    from collections.abc import Callable

    Reader = Callable[[bytes, int], Any]
    Writer = Callable[[Any, bytearray], None]


class Api:
    """One API of the protocol: its key, the versions we know, and from which on they are flexible."""

    def __init__(self, key: int, name: str, *, versions: str, flexible: str = "") -> None:
        self.key = key
        self.name = name
        self.versions: Versions = parse_versions(versions)
        self.flexible: Versions = parse_versions(flexible)
        # Set by the two message classes when they are declared.
        self.request: type[Request[Any]]
        self.response: type[Response]

    def __repr__(self) -> str:
        return f"{self.name}({self.key}) {self.versions}"


@dataclass_transform(kw_only_default=True)
class StructType(type):
    """Turns a class body of declared fields into a class with slots."""

    fields: dict[str, Field]

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> StructType:
        fields = {key: value for key, value in namespace.items() if isinstance(value, Field)}
        rest = {key: value for key, value in namespace.items() if key not in fields}
        rest["__slots__"] = tuple(fields)
        made = super().__new__(mcs, name, bases, rest, **options)
        made.fields = fields
        return made


class Struct(metaclass=StructType):
    """A group of fields, whether it is a part of a message or the whole of one."""

    def __init__(self, **values: Any) -> None:
        # The first instance of a class pays for a constructor of its own, which is several times faster than a loop.
        own_type = type(self)
        type.__setattr__(own_type, "__init__", _compile_init(own_type))
        own_type.__init__(self, **values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in type(self).fields)

    __hash__ = None  # type: ignore[assignment]  # a message can be changed

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in type(self).fields)
        return f"{type(self).__name__}({values})"


class Message(Struct):
    """A whole request or response body; knows its API and reads and writes itself in any version of it."""

    api: ClassVar[Api]
    _readers: ClassVar[dict[int, Reader]]
    _writers: ClassVar[dict[int, Writer]]

    def __init_subclass__(cls, api: Api | None = None) -> None:
        super().__init_subclass__()
        if api is not None:
            cls.api = api
            cls._readers = {}
            cls._writers = {}

    @classmethod
    def decode(cls, version: int, data: bytes | bytearray | memoryview, at: int = 0) -> Self:
        """The message that starts at `at`; bytes after its end are nobody's and are ignored."""
        read = cls._readers.get(version) or cls._compiled_reader(version)
        try:
            message: Self = read(bytes(data), at)
        except (IndexError, struct.error):
            raise MalformedMessage(f"{cls.__name__} v{version} ends too early") from None
        return message

    def encode(self, version: int) -> bytes:
        out = bytearray()
        self.encode_into(version, out)
        return bytes(out)

    def encode_into(self, version: int, out: bytearray) -> None:
        """Append the message to what `out` has already, such as a header."""
        write = self._writers.get(version) or self._compiled_writer(version)
        write(self, out)

    @classmethod
    def _compiled_reader(cls, version: int) -> Reader:
        assert version in cls.api.versions, f"{cls.__name__} has no version {version}"
        read = cls._readers[version] = compile_reader(cls, version, flexible=version in cls.api.flexible)
        return read

    @classmethod
    def _compiled_writer(cls, version: int) -> Writer:
        assert version in cls.api.versions, f"{cls.__name__} has no version {version}"
        write = cls._writers[version] = compile_writer(cls, version, flexible=version in cls.api.flexible)
        return write


class Response(Message):
    def __init_subclass__(cls, api: Api | None = None) -> None:
        super().__init_subclass__(api)
        if api is not None:
            api.response = cls


R = TypeVar("R", bound=Response)


class Request(Message, Generic[R]):
    """A request, by type tied to the response that answers it."""

    def __init_subclass__(cls, api: Api | None = None) -> None:
        super().__init_subclass__(api)
        if api is not None:
            api.request = cls


def _compile_init(owner: type[Struct]) -> Callable[..., None]:
    names: dict[str, Any] = {"UNSET": UNSET}
    parameters, lines = [], []
    for name, field in owner.fields.items():
        if isinstance(field.default, list):
            parameters.append(f"{name}=UNSET")
            lines.append(f"    self.{name} = [] if {name} is UNSET else {name}")
        else:
            names[f"default_{name}"] = field.default
            parameters.append(f"{name}=default_{name}")
            lines.append(f"    self.{name} = {name}")
    signature = f"def __init__(self, *, {', '.join(parameters)}):" if parameters else "def __init__(self):"
    exec("\n".join([signature, *(lines or ["    pass"])]), names)  # noqa: S102  the source is ours
    init: Callable[..., None] = names["__init__"]
    return init
