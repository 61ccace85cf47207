"""The group-coordinator process: registered, and told by the active controller what the cluster looks like."""

from tidelog.group_coordinator.shell.service import SERVICE_NAME, GroupCoordinatorService
from tidelog.kafka.cluster import Role
from tidelog.kafka.configs.group_coordinator import GroupCoordinatorConfig
from tidelog.rpc import group_coordinator_pb2_grpc, types_pb2_grpc
from tidelog.runtime import presence
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.grpc_edge import Servicer, server
from tidelog.runtime.ops_http import ops_http
from tidelog.runtime.process import Process
from tidelog.zk.membership import Identity, prepare_cluster, registered, registrant_of, zookeeper_session


async def serve(config: GroupCoordinatorConfig, process: Process) -> None:
    identity = Identity.of(Role.GROUP_COORDINATOR, config.coordinator_id, config)
    session = zookeeper_session(config, process)
    registrant = registrant_of(identity, session, process)
    mirror = ClusterMirror(process.readiness, lambda: registrant.incarnation.epoch)
    servicers: list[Servicer] = [
        (group_coordinator_pb2_grpc.add_GroupCoordinatorServicer_to_server, GroupCoordinatorService(mirror)),
        (types_pb2_grpc.add_PresenceServicer_to_server, presence.PresenceService(registrant.incarnation)),
    ]
    async with (
        ops_http(config.ops_listener, process.pages),
        server(config.grpc_listener, servicers, [SERVICE_NAME, presence.SERVICE_NAME], process.readiness),
        session,
        process.background() as tasks,
    ):
        await prepare_cluster(session)
        async with registered(registrant, tasks):
            await process.stopped()
