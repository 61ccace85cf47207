"""A process's life in ZooKeeper, from first connection to farewell: what brokers, controllers and coordinators share."""

import socket
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tidelog.kafka.cluster import Role
from tidelog.kafka.configs.listeners import split_address
from tidelog.kafka.configs.service import ZooKeeperConfig
from tidelog.kafka.types import GRPC_LISTENER, Endpoint, topic_id_text
from tidelog.runtime.background import Background
from tidelog.runtime.clock import Clock
from tidelog.runtime.process import Process
from tidelog.zk.bootstrap import create_top_level_nodes, ensure_cluster_id, ensure_features
from tidelog.zk.errors import ConnectionLost, SessionExpired
from tidelog.zk.registrant import Registrant, follow_session
from tidelog.zk.session import ZkSession
from tidelog.zk.znodes import BrokerRegistration


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a process is and where others reach it."""

    role: Role
    id: int
    endpoints: tuple[Endpoint, ...]
    security_protocols: Mapping[str, str]
    rack: str | None = None

    @classmethod
    def of(
        cls,
        role: Role,
        id: int,
        config: ZooKeeperConfig,
        kafka_endpoints: Iterable[Endpoint] = (),
        security_protocols: Mapping[str, str] | None = None,
        rack: str | None = None,
    ) -> "Identity":
        """The gRPC address stands beside the Kafka ones, as a listener that Kafka clients are never told."""
        host, port = split_address(config.advertised_grpc_address(host_name()))
        endpoints = (*kafka_endpoints, Endpoint(GRPC_LISTENER, host, port))
        return cls(role, id, endpoints, {**(security_protocols or {}), GRPC_LISTENER: "PLAINTEXT"}, rack)

    def registration(self, clock: Clock) -> BrokerRegistration:
        return BrokerRegistration.of(
            self.endpoints, self.security_protocols, timestamp_ms=clock.now_ms(), rack=self.rack
        )


def host_name() -> str:
    """What others call this machine when no host was configured."""
    return socket.getfqdn()


def zookeeper_session(config: ZooKeeperConfig, process: Process) -> ZkSession:
    """A session, not started yet, that readiness follows."""
    session = ZkSession(config.zookeeper_connect, config.zookeeper_session_timeout_ms)
    follow_session(session, config.zookeeper_connect, process.readiness)
    return session


async def prepare_cluster(session: ZkSession) -> str:
    """Wait for ZooKeeper, create what must always exist there, and return the cluster's id."""
    while True:
        await session.connected()
        try:
            await create_top_level_nodes(session)
            await ensure_features(session)
            return await ensure_cluster_id(session, topic_id_text(uuid.uuid4()))
        except (ConnectionLost, SessionExpired):
            continue  # A process may well be slow to start, and its first session be over; the next one comes by itself.


def registrant_of(
    identity: Identity,
    session: ZkSession,
    process: Process,
    *,
    on_registered: Callable[[int], None] = lambda _: None,
    on_lost: Callable[[str], None] = lambda _: None,
) -> Registrant:
    return Registrant(
        session,
        identity.role,
        identity.id,
        lambda: identity.registration(process.clock),
        process.readiness,
        on_registered=on_registered,
        on_lost=on_lost,
    )


@asynccontextmanager
async def registered(registrant: Registrant, tasks: Background) -> AsyncIterator[None]:
    """Registered from here on, and again whenever the registration is lost; unregistered when the context is left."""
    await registrant.register()
    keeping = tasks.spawn(registrant.keep_registered(), "registration")
    try:
        yield
    finally:
        keeping.cancel()
        await registrant.unregister()
