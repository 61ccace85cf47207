"""Who is there and who leads: registrations of processes, /controller and /controller_epoch."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from tidelog.kafka.types import BrokerId, ControllerEpoch, ControllerId, CoordinatorId, Endpoint
from tidelog.zk.znodes.encoding import Fields, encode_json, parsed

BROKER_IDS = "/brokers/ids"
CONTROLLER_IDS = "/controllers/ids"
COORDINATOR_IDS = "/coordinators/ids"
BROKER_SEQUENCE_ID = "/brokers/seqid"

_PLAINTEXT = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """Where a process is reached. `host` and `port` are the first plaintext endpoint's, for clients of old."""

    host: str | None
    port: int
    endpoints: tuple[Endpoint, ...]
    listener_security_protocol_map: Mapping[str, str]
    jmx_port: int = -1
    timestamp_ms: int = -1
    rack: str | None = None
    features: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        endpoints: Iterable[Endpoint],
        listener_security_protocol_map: Mapping[str, str],
        *,
        timestamp_ms: int,
        rack: str | None = None,
        jmx_port: int = -1,
    ) -> Self:
        """The registration of a process that is reached at these endpoints."""
        endpoints = tuple(endpoints)
        protocols = {endpoint.listener: listener_security_protocol_map[endpoint.listener] for endpoint in endpoints}
        plain = next((endpoint for endpoint in endpoints if protocols[endpoint.listener] == _PLAINTEXT), None)
        host, port = (plain.host, plain.port) if plain else (None, -1)
        return cls(host, port, endpoints, protocols, jmx_port, timestamp_ms, rack)

    def endpoint(self, listener: str) -> Endpoint | None:
        """The endpoint of that listener, if the process has it."""
        return next((endpoint for endpoint in self.endpoints if endpoint.listener == listener), None)


class _Registrations:
    """The nodes of processes that are registered all have one format."""

    @staticmethod
    def encode(registration: BrokerRegistration) -> bytes:
        return encode_registration(registration)

    @staticmethod
    def decode(data: bytes) -> BrokerRegistration:
        return decode_registration(data)


class BrokerIdZnode(_Registrations):
    """/brokers/ids/N, ephemeral.

    v1 {"version":1,"host":"h","port":9092,"jmx_port":-1,"timestamp":"1700000000000"}
    v2 adds "endpoints":["PLAINTEXT://h:9092"]
    v3 adds "rack":"r", only where the broker has one
    v4 adds "listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"}; before, a listener is named after its protocol
    v5 adds "features":{"f":{"min_version":1,"max_version":2}}
    """

    @staticmethod
    def path(broker_id: BrokerId) -> str:
        return f"{BROKER_IDS}/{broker_id}"


class ControllerIdZnode(_Registrations):
    """/controllers/ids/N, ephemeral: a controller process, in the format of BrokerIdZnode."""

    @staticmethod
    def path(controller_id: ControllerId) -> str:
        return f"{CONTROLLER_IDS}/{controller_id}"


class CoordinatorIdZnode(_Registrations):
    """/coordinators/ids/N, ephemeral: a group coordinator process, in the format of BrokerIdZnode."""

    @staticmethod
    def path(coordinator_id: CoordinatorId) -> str:
        return f"{COORDINATOR_IDS}/{coordinator_id}"


def encode_registration(registration: BrokerRegistration) -> bytes:
    """Version 5, with the fields in the order of Kafka's hash map."""
    rack = {} if registration.rack is None else {"rack": registration.rack}
    return encode_json(
        {
            "features": {name: dict(versions) for name, versions in registration.features.items()},
            "listener_security_protocol_map": dict(registration.listener_security_protocol_map),
            "endpoints": [str(endpoint) for endpoint in registration.endpoints],
            **rack,
            "jmx_port": registration.jmx_port,
            "port": registration.port,
            "host": registration.host,
            "version": 5,
            "timestamp": str(registration.timestamp_ms),
        }
    )


def decode_registration(data: bytes) -> BrokerRegistration:
    """Any version from 1 to 5, and later ones as far as they keep these fields."""
    fields = Fields.parse(data, "registration")
    endpoints = _decode_endpoints(fields)
    protocols = fields.object("listener_security_protocol_map")
    features = fields.object("features")
    return BrokerRegistration(
        host=fields.optional_text("host"),
        port=fields.integer("port", -1),
        endpoints=endpoints,
        listener_security_protocol_map={name: protocols.text(name) for name in protocols.names()}
        or {endpoint.listener: endpoint.listener for endpoint in endpoints},
        jmx_port=fields.integer("jmx_port", -1),
        timestamp_ms=fields.integer("timestamp", -1),
        rack=fields.optional_text("rack"),
        features={name: _decode_versions(features.object(name)) for name in features.names()},
    )


def _decode_endpoints(fields: Fields) -> tuple[Endpoint, ...]:
    if fields.integer("version") == 1:
        return (Endpoint(_PLAINTEXT, fields.text("host"), fields.integer("port")),)
    return tuple(parsed(Endpoint.parse, text) for text in fields.texts("endpoints"))


def _decode_versions(fields: Fields) -> dict[str, int]:
    return {name: fields.integer(name) for name in fields.names()}


@dataclass(frozen=True, slots=True)
class ActiveController:
    """Who holds /controller, since when."""

    controller_id: ControllerId
    timestamp_ms: int


class ControllerZnode:
    """/controller, ephemeral.

    v1 {"version":1,"brokerid":0,"timestamp":"1700000000000"}
    v2 adds "kraftControllerEpoch":-1
    """

    PATH = "/controller"

    @staticmethod
    def encode(controller: ActiveController) -> bytes:
        return encode_json(
            {
                "version": 2,
                "brokerid": controller.controller_id,
                "timestamp": str(controller.timestamp_ms),
                "kraftControllerEpoch": -1,
            }
        )

    @staticmethod
    def decode(data: bytes) -> ActiveController:
        fields = Fields.parse(data, ControllerZnode.PATH)
        return ActiveController(ControllerId(fields.integer("brokerid")), fields.integer("timestamp", -1))


class ControllerEpochZnode:
    """/controller_epoch: the epoch as decimal text, not JSON. Created with 0; the first controller writes 1."""

    PATH = "/controller_epoch"
    INITIAL = ControllerEpoch(0)

    @staticmethod
    def encode(epoch: ControllerEpoch) -> bytes:
        return str(epoch).encode()

    @staticmethod
    def decode(data: bytes) -> ControllerEpoch:
        return ControllerEpoch(parsed(int, data.decode()))
