"""One member of a group: what it told when it joined, and which of its requests are held back."""

from dataclasses import dataclass

from tidelog.kafka.wire.messages.join_group import JoinGroupRequest

Protocols = tuple[tuple[str, bytes], ...]


def protocols_of(request: JoinGroupRequest) -> Protocols:
    return tuple((protocol.name, protocol.metadata) for protocol in request.protocols)


def rebalance_timeout_of(request: JoinGroupRequest) -> int:
    """The first version has none; the session timeout stands for it."""
    return request.rebalance_timeout_ms if request.rebalance_timeout_ms >= 0 else request.session_timeout_ms


@dataclass(slots=True)
class Member:
    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    assignment: bytes = b""
    # A new member has never had an answer to its JoinGroup, so it may not even know its id.
    is_new: bool = False
    # The tokens of the requests that are held back.
    join_token: object | None = None
    sync_token: object | None = None

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    def metadata(self, protocol: str | None) -> bytes:
        """What the member says under this protocol. A name that is given twice counts once, the first time."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def protocol_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in self.protocols))

    def take_timeouts(self, request: JoinGroupRequest) -> None:
        self.session_timeout_ms = request.session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_of(request)
