"""Settings of every client: whom to ask first, and how long to wait and to insist."""

from dataclasses import dataclass

from tidelog.kafka.configs.checks import Check, at_least
from tidelog.kafka.configs.kinds import INT, LIST, LONG, STRING
from tidelog.kafka.configs.setting import HIGH, LOW, REQUIRED, setting


def _are_addresses(servers: tuple[str, ...]) -> bool:
    return bool(servers) and all(_is_address(each) for each in servers)


def _are_addresses_if_any(servers: tuple[str, ...]) -> bool:
    return all(_is_address(each) for each in servers)


def _is_address(text: str) -> bool:
    host, colon, port = text.rpartition(":")
    return bool(host and colon and port.isdecimal() and 0 < int(port) < 65536)


_ADDRESSES = Check(_are_addresses, "host:port,host:port,...")
_ADDRESSES_IF_ANY = Check(_are_addresses_if_any, "host:port,host:port,...")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """What producers, consumers and admins share."""

    bootstrap_servers: tuple[str, ...] = setting(
        "bootstrap.servers", LIST, REQUIRED, _ADDRESSES, "Brokers to ask for the others; one suffices.", importance=HIGH
    )
    client_id: str = setting(
        "client.id", STRING, "tidelog", doc="The name under which brokers log and limit the client."
    )
    client_rack: str = setting("client.rack", STRING, "", doc="Where the client runs, for choosing replicas near it.")
    request_timeout_ms: int = setting(
        "request.timeout.ms", INT, 30_000, at_least(1), "How long an answer may take before the request has failed."
    )
    retry_backoff_ms: int = setting(
        "retry.backoff.ms", LONG, 100, at_least(0), "How long to wait before the first retry of a request."
    )
    retry_backoff_max_ms: int = setting(
        "retry.backoff.max.ms", LONG, 1000, at_least(0), "How long to wait at most; the wait doubles with each retry."
    )
    reconnect_backoff_ms: int = setting(
        "reconnect.backoff.ms", LONG, 50, at_least(0), "How long to leave a broker alone that could not be reached."
    )
    reconnect_backoff_max_ms: int = setting(
        "reconnect.backoff.max.ms", LONG, 1000, at_least(0), "The same at most; the wait doubles with each failure."
    )
    metadata_max_age_ms: int = setting(
        "metadata.max.age.ms", LONG, 300_000, at_least(1), "After this long metadata is fetched anew without a reason."
    )
    metadata_endpoints: tuple[str, ...] = setting(
        "metadata.endpoints",
        LIST,
        (),
        _ADDRESSES_IF_ANY,
        "gRPC addresses of metadata processes, which push changes of leaders at once; Kafka clusters have none.",
        importance=LOW,
    )
    socket_connection_setup_timeout_ms: int = setting(
        "socket.connection.setup.timeout.ms",
        LONG,
        10_000,
        at_least(1),
        "How long a connection may take to open.",
        importance=LOW,
    )
