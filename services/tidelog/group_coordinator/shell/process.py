"""The group-coordinator process: a listener for what brokers pass on, and the shards that the controller gives it."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from tidelog.group_coordinator.shell.coordination import Coordination
from tidelog.group_coordinator.shell.doubt import SessionDoubt
from tidelog.group_coordinator.shell.service import SERVICE_NAME, GroupCoordinatorService
from tidelog.kafka.cluster import Role
from tidelog.kafka.configs.group_coordinator import GroupCoordinatorConfig
from tidelog.net.awaited import AwaitedRequests
from tidelog.net.dispatch import Dispatcher, FreeOfCharge
from tidelog.net.limits import ConnectionLimits
from tidelog.net.listener import Listener
from tidelog.net.listener_metrics import ListenerMetrics
from tidelog.net.request_counts import RequestCounts
from tidelog.net.request_metrics import RequestMetrics
from tidelog.net.served import Served
from tidelog.rpc import controller_pb2, group_coordinator_pb2_grpc, types_pb2_grpc
from tidelog.runtime import logs, presence
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.controller_client import ControllerClient
from tidelog.runtime.grpc_edge import Servicer, server
from tidelog.runtime.ops_http import ops_http
from tidelog.runtime.process import Process
from tidelog.zk.membership import Identity, host_name, prepare_cluster, registered, registrant_of, zookeeper_session
from tidelog.zk.registrant import Registrant

# A client that gets no producer id in this time asks again anyway.
_ALLOCATE_TIMEOUT_MS = 5_000
_CLOSE_TIMEOUT_S = 2.0
# Behind each connection is a broker with all its clients, whose members may all wait for a rebalance at once. They are
# bounded by the connections that the brokers admit.
_UNANSWERED_MAX = 1_000_000
_UNSENT_BYTES_MAX = 64 * 1024 * 1024

_logger = logs.get("net")


async def serve(config: GroupCoordinatorConfig, process: Process) -> None:
    identity = Identity.of(
        Role.GROUP_COORDINATOR,
        config.coordinator_id,
        config,
        config.advertised_endpoints(host_name()),
        config.security_protocols,
    )
    session = zookeeper_session(config, process)
    registrant = registrant_of(identity, session, process)
    mirror = ClusterMirror(process.readiness, lambda: registrant.incarnation.epoch)
    controller = ControllerClient(mirror)
    doubt = SessionDoubt(config.zookeeper_session_timeout_ms, lambda: registrant.incarnation.epoch, process.clock)
    session.add_state_listener(doubt.on_state)
    coordination = Coordination(
        config,
        process,
        mirror,
        lambda: _allocate_producer_ids(controller, config.coordinator_id, registrant),
        doubt.is_in_doubt,
    )
    service = GroupCoordinatorService(mirror, coordination, config.coordinator_id, doubt.is_in_doubt)
    servicers: list[Servicer] = [
        (group_coordinator_pb2_grpc.add_GroupCoordinatorServicer_to_server, service),
        (types_pb2_grpc.add_PresenceServicer_to_server, presence.PresenceService(registrant.incarnation)),
    ]
    async with (
        ops_http(config.ops_listener, process.pages),
        server(config.grpc_listener, servicers, [SERVICE_NAME, presence.SERVICE_NAME], process.readiness),
        _listeners(config, process, coordination.served()),
        session,
        process.background() as tasks,
    ):
        await prepare_cluster(session)
        async with coordination.at_work(tasks), registered(registrant, tasks):
            await process.stopped()


@asynccontextmanager
async def _listeners(config: GroupCoordinatorConfig, process: Process, served: Iterable[Served]) -> AsyncIterator[None]:
    """Serve the Kafka wire to this cluster's own processes until the context is left."""
    counts, awaited = RequestCounts(), AwaitedRequests(config.queued_max_requests)
    dispatcher = Dispatcher(served, FreeOfCharge(), counts, awaited)
    limits = ConnectionLimits(
        request_bytes_max=config.socket_request_max_bytes,
        unanswered_max=_UNANSWERED_MAX,
        unsent_bytes_max=_UNSENT_BYTES_MAX,
        idle_ms_max=config.connections_max_idle_ms,
        answers_in_order=False,
    )
    opened: list[Listener] = []
    process.registry.register(RequestMetrics(counts, process.clock))
    process.registry.register(ListenerMetrics(opened, awaited, process.clock))
    try:
        for endpoint in config.listeners:
            opened.append(await Listener.open(endpoint, dispatcher, limits=limits))
            _logger.info("listening", listener=endpoint.listener, port=opened[-1].port)
        yield
    finally:
        for listener in opened:
            await listener.close(_CLOSE_TIMEOUT_S)


async def _allocate_producer_ids(
    controller: ControllerClient, coordinator_id: int, registrant: Registrant
) -> tuple[int, int]:
    """A block of producer ids that the controller gives to this incarnation alone."""
    request = controller_pb2.AllocateProducerIdsRequest(
        id=coordinator_id, epoch=registrant.incarnation.epoch or -1, is_coordinator=True
    )
    block = await controller.call("AllocateProducerIds", request, _ALLOCATE_TIMEOUT_MS)
    return block.first_producer_id, block.count
