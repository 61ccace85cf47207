"""Settings of a broker's connections, request queues and threads."""

from dataclasses import dataclass
from typing import ClassVar

from tidelog.kafka.configs.checks import Check, at_least, one_of
from tidelog.kafka.configs.kinds import INT, LONG, PAIRS, STRING
from tidelog.kafka.configs.listeners import unknown_listener
from tidelog.kafka.configs.setting import CLUSTER_WIDE, HIGH, LOW, Rule, setting

_BUFFER = Check(lambda size: size == -1 or size >= 1, "at least 1, or -1 for the system's choice")
_CONNECTION_LIMITS = Check(
    lambda pairs: all(count.isascii() and count.isdigit() for _host, count in pairs), "host:count pairs"
)


def _same_listener(control: str | None, inter_broker: str | None) -> str:
    return "is also the inter.broker.listener.name" if control is not None and control == inter_broker else ""


def _queue_below_request(queued: int, request: int) -> str:
    return f"is below socket.request.max.bytes={request}" if 0 < queued < request else ""


def _nobody_may_connect(limit: int, overrides: tuple[tuple[str, str], ...]) -> str:
    return "lets nobody connect without max.connections.per.ip.overrides" if limit == 0 and not overrides else ""


def _delay_beyond_idle(delay_ms: int, idle_ms: int) -> str:
    return f"is not below connections.max.idle.ms={idle_ms}" if 0 <= idle_ms <= delay_ms else ""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class NetworkSettings:
    """Which listener is for what, how connections are limited, and how requests wait."""

    __slots__ = ()

    inter_broker_listener_name: str | None = setting(
        "inter.broker.listener.name",
        STRING,
        None,
        doc="The listener that brokers replicate over; without it, the first PLAINTEXT one.",
    )
    control_plane_listener_name: str | None = setting(
        "control.plane.listener.name",
        STRING,
        None,
        doc="A listener kept for the control plane; Tidelog's own runs over gRPC and needs none.",
        importance=HIGH,
    )
    security_inter_broker_protocol: str = setting(
        "security.inter.broker.protocol",
        STRING,
        "PLAINTEXT",
        one_of("PLAINTEXT"),
        "The security protocol between brokers.",
    )
    num_network_threads: int = setting(
        "num.network.threads",
        INT,
        3,
        at_least(1),
        "Kafka's network threads; accepted, since one event loop serves every connection.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    num_io_threads: int = setting(
        "num.io.threads",
        INT,
        8,
        at_least(1),
        "Threads for file work that would otherwise hold up the event loop.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    background_threads: int = setting(
        "background.threads",
        INT,
        10,
        at_least(1),
        "Threads for background file work.",
        importance=HIGH,
        update=CLUSTER_WIDE,
    )
    queued_max_requests: int = setting(
        "queued.max.requests",
        INT,
        500,
        at_least(1),
        "How many requests that ask other processes may be under way; who sends one more is not read from meanwhile.",
        importance=HIGH,
    )
    queued_max_request_bytes: int = setting(
        "queued.max.request.bytes",
        LONG,
        -1,
        doc="How many bytes of requests may wait before the broker stops reading; -1 for no bound.",
    )
    request_timeout_ms: int = setting(
        "request.timeout.ms",
        INT,
        30000,
        at_least(1),
        "How long the broker waits for the answer to a request of its own.",
        importance=HIGH,
    )
    socket_connection_setup_timeout_ms: int = setting(
        "socket.connection.setup.timeout.ms",
        LONG,
        10000,
        at_least(1),
        "How long the broker waits for a connection of its own to open.",
    )
    socket_connection_setup_timeout_max_ms: int = setting(
        "socket.connection.setup.timeout.max.ms",
        LONG,
        30000,
        at_least(1),
        "The most that repeated failures may stretch socket.connection.setup.timeout.ms to.",
    )
    socket_request_max_bytes: int = setting(
        "socket.request.max.bytes",
        INT,
        104857600,
        at_least(1),
        "The largest request; a larger one closes its connection.",
        importance=HIGH,
    )
    socket_send_buffer_bytes: int = setting(
        "socket.send.buffer.bytes",
        INT,
        102400,
        _BUFFER,
        "The socket's send buffer; -1 leaves it to the system.",
        importance=HIGH,
    )
    socket_receive_buffer_bytes: int = setting(
        "socket.receive.buffer.bytes",
        INT,
        102400,
        _BUFFER,
        "The socket's receive buffer; -1 leaves it to the system.",
        importance=HIGH,
    )
    socket_listen_backlog_size: int = setting(
        "socket.listen.backlog.size",
        INT,
        50,
        at_least(1),
        "How many connections the system may hold before the broker accepts them.",
    )
    connections_max_idle_ms: int = setting(
        "connections.max.idle.ms",
        LONG,
        600000,
        doc="Connections that are idle for longer are closed; negative for never.",
    )
    connection_failed_authentication_delay_ms: int = setting(
        "connection.failed.authentication.delay.ms",
        INT,
        100,
        at_least(0),
        "How long a connection that failed to authenticate is held before it is closed.",
        importance=LOW,
    )
    max_connections: int = setting(
        "max.connections",
        INT,
        2147483647,
        at_least(0),
        "How many connections the broker accepts in all.",
        update=CLUSTER_WIDE,
    )
    max_connections_per_ip: int = setting(
        "max.connections.per.ip",
        INT,
        2147483647,
        at_least(0),
        "How many connections the broker accepts from one address.",
        update=CLUSTER_WIDE,
    )
    max_connections_per_ip_overrides: tuple[tuple[str, str], ...] = setting(
        "max.connections.per.ip.overrides",
        PAIRS,
        (),
        _CONNECTION_LIMITS,
        "Other bounds for single addresses, as host:count,host:count.",
        update=CLUSTER_WIDE,
    )
    max_connection_creation_rate: int = setting(
        "max.connection.creation.rate",
        INT,
        2147483647,
        at_least(0),
        "How many new connections a second the broker accepts.",
        update=CLUSTER_WIDE,
    )
    max_request_partition_size_limit: int = setting(
        "max.request.partition.size.limit",
        INT,
        2000,
        at_least(1),
        "How many partitions one DescribeTopicPartitions answer may hold.",
    )
    max_incremental_fetch_session_cache_slots: int = setting(
        "max.incremental.fetch.session.cache.slots",
        INT,
        1000,
        at_least(0),
        "How many fetch sessions the broker remembers.",
    )
    fetch_max_bytes: int = setting(
        "fetch.max.bytes",
        INT,
        57671680,
        at_least(1024),
        "The most bytes that one fetch is answered with, whatever it asks for.",
    )
    fetch_purgatory_purge_interval_requests: int = setting(
        "fetch.purgatory.purge.interval.requests",
        INT,
        1000,
        doc="After how many completed requests waiting fetches are swept of their remains.",
    )
    producer_purgatory_purge_interval_requests: int = setting(
        "producer.purgatory.purge.interval.requests",
        INT,
        1000,
        doc="After how many completed requests waiting produces are swept of their remains.",
    )
    delete_records_purgatory_purge_interval_requests: int = setting(
        "delete.records.purgatory.purge.interval.requests",
        INT,
        1,
        doc="After how many completed requests waiting record deletions are swept of their remains.",
    )

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(("inter.broker.listener.name", "listeners"), unknown_listener),
        Rule(("control.plane.listener.name", "listeners"), unknown_listener),
        Rule(("control.plane.listener.name", "inter.broker.listener.name"), _same_listener),
        Rule(("queued.max.request.bytes", "socket.request.max.bytes"), _queue_below_request),
        Rule(("max.connections.per.ip", "max.connections.per.ip.overrides"), _nobody_may_connect),
        Rule(("connection.failed.authentication.delay.ms", "connections.max.idle.ms"), _delay_beyond_idle),
    )

    @property
    def connection_limits(self) -> dict[str, int]:
        """The bounds of max.connections.per.ip.overrides by host."""
        return {host: int(count) for host, count in self.max_connections_per_ip_overrides}
