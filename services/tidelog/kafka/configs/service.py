"""Settings of every process, and those of a process that talks to ZooKeeper."""

import re
from dataclasses import dataclass
from typing import Literal, cast

from tidelog.kafka.configs.checks import Check, at_least, one_of
from tidelog.kafka.configs.kinds import INT, STRING, Kind
from tidelog.kafka.configs.listeners import ADDRESS, ADDRESS_OR_EMPTY, ADVERTISABLE_ADDRESS, reachable_address
from tidelog.kafka.configs.setting import HIGH, LOW, REQUIRED, setting

_SERVER = r"(\[[0-9a-fA-F:.]+\]|[^\[\]:/,\s]+)(:\d{1,5})?"
_CONNECT = re.compile(rf"{_SERVER}(,{_SERVER})*(/|(/[^/,\s]+)+)?")
_WITHOUT_BLANKS: Kind[str] = Kind("string", 2, lambda text: "".join(text.split()))

LogFormat = Literal["text", "json"]
_LOG_FORMAT: Kind[LogFormat] = Kind("string", 2, lambda text: cast("LogFormat", text))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceConfig:
    """What every process has: its two ports besides its main business, its log, and how long it may take to stop."""

    grpc_listener: str = setting(
        "grpc.listener",
        STRING,
        ":9190",
        ADDRESS,
        "Where the process serves gRPC to the other processes.",
        importance=HIGH,
    )
    grpc_advertised_listener: str | None = setting(
        "grpc.advertised.listener",
        STRING,
        None,
        ADVERTISABLE_ADDRESS,
        "Where the other processes reach this one's gRPC; without it, grpc.listener with this machine's name.",
        importance=HIGH,
    )
    ops_listener: str = setting(
        "ops.listener",
        STRING,
        ":9290",
        ADDRESS_OR_EMPTY,
        "Where /metrics, /livez and /readyz are served; empty for nowhere.",
    )
    log_level: str = setting(
        "log.level", STRING, "info", one_of("debug", "info", "warning", "error"), "The least level that is logged."
    )
    log_format: Literal["text", "json"] = setting(
        "log.format", _LOG_FORMAT, "text", one_of("text", "json"), "How a line of the log is written.", importance=LOW
    )
    shutdown_timeout_ms: int = setting(
        "shutdown.timeout.ms", INT, 30000, at_least(0), "How long a process may drain its work after SIGTERM."
    )

    def advertised_grpc_address(self, host_name: str) -> str:
        """The gRPC address that others are told, on a machine of this name."""
        return self.grpc_advertised_listener or reachable_address(self.grpc_listener, host_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperConfig(ServiceConfig):
    """What a process needs to hold a session with ZooKeeper."""

    zookeeper_connect: str = setting(
        "zookeeper.connect",
        _WITHOUT_BLANKS,
        REQUIRED,
        Check(lambda text: _CONNECT.fullmatch(text) is not None, "host:port,host:port,... with an optional /chroot"),
        "The ZooKeeper servers, and after them the path under which this cluster keeps everything.",
        importance=HIGH,
    )
    zookeeper_session_timeout_ms: int = setting(
        "zookeeper.session.timeout.ms",
        INT,
        18000,
        at_least(1),
        "After this much silence ZooKeeper declares the process dead.",
        importance=HIGH,
    )
    zookeeper_connection_timeout_ms: int | None = setting(
        "zookeeper.connection.timeout.ms",
        INT,
        None,
        at_least(1),
        "How long to wait for the first connection; without it, as long as a session lives.",
        importance=HIGH,
    )
    zookeeper_max_in_flight_requests: int = setting(
        "zookeeper.max.in.flight.requests",
        INT,
        10,
        at_least(1),
        "How many requests may be under way to ZooKeeper before another one waits.",
        importance=HIGH,
    )

    @property
    def zookeeper_servers(self) -> str:
        """The "host:port,..." without the chroot."""
        return self.zookeeper_connect.partition("/")[0]

    @property
    def zookeeper_chroot(self) -> str:
        """The path below which this cluster lives; empty for the root."""
        _servers, slash, path = self.zookeeper_connect.partition("/")
        return slash + path if path else ""

    @property
    def zookeeper_connection_time_ms(self) -> int:
        return self.zookeeper_connection_timeout_ms or self.zookeeper_session_timeout_ms
