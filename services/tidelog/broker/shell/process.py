"""The broker process: log directories, listeners and ZooKeeper around the broker's core."""

from tidelog.broker.shell.kafka_listeners import kafka_listeners
from tidelog.broker.shell.log_dirs import held_log_dirs
from tidelog.broker.shell.service import SERVICE_NAME, BrokerService
from tidelog.kafka.cluster import Role
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.rpc import broker_pb2_grpc, types_pb2_grpc
from tidelog.runtime import presence
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.grpc_edge import Servicer, server
from tidelog.runtime.ops_http import ops_http
from tidelog.runtime.process import Process
from tidelog.zk.membership import Identity, host_name, prepare_cluster, registered, registrant_of, zookeeper_session


async def serve(config: BrokerConfig, process: Process) -> None:
    with held_log_dirs(config.log_directories):
        await _serve(config, process)


async def _serve(config: BrokerConfig, process: Process) -> None:
    identity = Identity.of(
        Role.BROKER,
        config.broker_id,
        config,
        config.advertised_endpoints(host_name()),
        config.security_protocols,
        config.broker_rack,
    )
    session = zookeeper_session(config, process)
    registrant = registrant_of(identity, session, process)
    mirror = ClusterMirror(process.readiness, lambda: registrant.incarnation.epoch)
    servicers: list[Servicer] = [
        (broker_pb2_grpc.add_BrokerServicer_to_server, BrokerService(mirror)),
        (types_pb2_grpc.add_PresenceServicer_to_server, presence.PresenceService(registrant.incarnation)),
    ]
    async with (
        ops_http(config.ops_listener, process.pages),
        server(config.grpc_listener, servicers, [SERVICE_NAME, presence.SERVICE_NAME], process.readiness),
        kafka_listeners(config, mirror.view),
        session,
        process.background() as tasks,
    ):
        await prepare_cluster(session)
        async with registered(registrant, tasks):
            await process.stopped()
