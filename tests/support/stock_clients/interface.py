"""What tests ask of a stock client: to produce, to consume and to administer, each in its own way."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# Larger than what any of the clients sends or fetches by default.
MESSAGE_BYTES_MAX = 2_000_000


@dataclass(frozen=True)
class Message:
    """What a producer says and a consumer hears."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: tuple[tuple[str, bytes | None], ...] = ()


class StockClient(Protocol):
    name: str
    codecs: Sequence[str]
    writes_null_headers: bool

    def produce(
        self, bootstrap: str, topic: str, messages: Sequence[Message], codec: str = "none", *, idempotent: bool = False
    ) -> list[int]:
        """To partition 0, all acknowledged; gives their offsets."""
        ...

    def consume(self, bootstrap: str, topic: str, start: int, count: int) -> list[Message]:
        """So many messages of partition 0 from an offset on."""
        ...

    def offset_at(self, bootstrap: str, topic: str, timestamp_ms: int) -> int | None:
        """The first offset that is not older."""
        ...

    def ends(self, bootstrap: str, topic: str) -> tuple[int, int]:
        """Where partition 0 begins and ends."""
        ...

    def create(self, bootstrap: str, topic: str, partitions: int, configs: dict[str, str]) -> None: ...
    def delete(self, bootstrap: str, topic: str) -> None: ...
    def topics(self, bootstrap: str) -> dict[str, int]:
        """All topics and how many partitions they have."""
        ...

    def set_config(self, bootstrap: str, topic: str, name: str, value: str) -> None: ...
    def config(self, bootstrap: str, topic: str, name: str) -> str | None: ...
