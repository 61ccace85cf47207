"""All settings of a metadata process, which never talks to ZooKeeper."""

from dataclasses import dataclass

from tidelog.kafka.configs.checks import Check, at_least
from tidelog.kafka.configs.kinds import INT, LIST, STRING
from tidelog.kafka.configs.listeners import ADDRESS, ADDRESS_OR_EMPTY, ADDRESSES
from tidelog.kafka.configs.service import ServiceConfig
from tidelog.kafka.configs.setting import HIGH, REQUIRED, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataConfig(ServiceConfig):
    """Everything a metadata process can be told."""

    metadata_id: int = setting(
        "metadata.id",
        INT,
        0,
        at_least(0),
        "The process's number, unique among the metadata processes.",
        importance=HIGH,
    )
    controllers: tuple[str, ...] = setting(
        "controllers",
        LIST,
        REQUIRED,
        Check(
            lambda addresses: bool(addresses) and ADDRESSES.accepts(addresses),
            "a list of host:port, separated by commas",
        ),
        "The gRPC addresses of the controllers.",
        importance=HIGH,
    )
    http_listener: str = setting(
        "http.listener",
        STRING,
        ":8080",
        ADDRESS,
        "Where the REST interface, the console, /metrics, /livez and /readyz are served.",
        importance=HIGH,
    )
    ops_listener: str = setting(
        "ops.listener",
        STRING,
        "",
        ADDRESS_OR_EMPTY,
        "A second address for /metrics, /livez and /readyz; empty, since http.listener serves them.",
    )
