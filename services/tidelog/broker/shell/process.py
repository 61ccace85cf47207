"""The broker process: log directories, listeners and ZooKeeper around the broker's core."""

from tidelog.broker.core.coordinator_routing import CoordinatorRouting
from tidelog.broker.shell.auto_creation import AutoCreation
from tidelog.broker.shell.catching_up import CatchingUp
from tidelog.broker.shell.client_throttling import ClientThrottling
from tidelog.broker.shell.config_store import ConfigStore
from tidelog.broker.shell.controlled_shutdown import hand_over
from tidelog.broker.shell.data_path import DataPath
from tidelog.broker.shell.data_service import DataService
from tidelog.broker.shell.kafka_listeners import kafka_listeners
from tidelog.broker.shell.leaving import wait_for_the_others
from tidelog.broker.shell.log_dirs import held_log_dirs
from tidelog.broker.shell.relay import Relay
from tidelog.broker.shell.relay_metrics import RelayMetrics
from tidelog.broker.shell.service import SERVICE_NAME, BrokerService
from tidelog.kafka.cluster import Role
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.rpc import broker_pb2_grpc, controller_pb2, types_pb2_grpc
from tidelog.runtime import presence
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.controller_client import ControllerClient
from tidelog.runtime.grpc_edge import Servicer, server
from tidelog.runtime.ops_http import ops_http
from tidelog.runtime.process import Process
from tidelog.zk.membership import Identity, host_name, prepare_cluster, registered, registrant_of, zookeeper_session
from tidelog.zk.registrant import Registrant

# A client that gets no producer id in this time asks again anyway.
_ALLOCATE_TIMEOUT_MS = 5_000


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
    configs = ConfigStore(session, config)
    mirror = ClusterMirror(process.readiness, lambda: registrant.incarnation.epoch)
    controller = ControllerClient(mirror)
    creation = AutoCreation(controller, configs.live, process.spawn)
    throttling = ClientThrottling(configs, process.clock)
    data = DataPath(
        config,
        process,
        mirror,
        configs,
        lambda: registrant.incarnation.epoch,
        lambda: _allocate_producer_ids(controller, config.broker_id, registrant),
        session,
    )
    routing = CoordinatorRouting(config, mirror.view)
    relay = Relay(routing, config.request_timeout_ms, throttling, process.clock, process.spawn)
    process.registry.register(RelayMetrics(relay))
    catching_up = CatchingUp(config, mirror, process.readiness)
    service = BrokerService(mirror, data.controller_requests, DataService(data))
    servicers: list[Servicer] = [
        (broker_pb2_grpc.add_BrokerServicer_to_server, service),
        (types_pb2_grpc.add_PresenceServicer_to_server, presence.PresenceService(registrant.incarnation)),
    ]
    async with (
        ops_http(config.ops_listener, process.pages),
        data.closed_in_the_end(),
        server(config.grpc_listener, servicers, [SERVICE_NAME, presence.SERVICE_NAME], process.readiness),
        kafka_listeners(
            config,
            process,
            controller,
            configs,
            data.served(throttling, relay),
            relay,
            creation,
            throttling,
            data.departures,
        ),
        session,
        process.background() as tasks,
    ):
        cluster_id = await prepare_cluster(session)
        async with (
            configs.followed(tasks, process.clock),
            data.opened(cluster_id, tasks),
            relay.followed(mirror, process.timers, tasks),
            registered(registrant, tasks),
        ):
            tasks.spawn(catching_up.watch(), "catching up")
            await process.stopped()
            await wait_for_the_others(config, mirror)
            data.replication.follow_nothing_new()
            await hand_over(config, controller, data.partitions, lambda: registrant.incarnation.epoch)


async def _allocate_producer_ids(
    controller: ControllerClient, broker_id: int, registrant: Registrant
) -> tuple[int, int]:
    """A block of producer ids that the controller gives to this incarnation of the broker alone."""
    request = controller_pb2.AllocateProducerIdsRequest(id=broker_id, epoch=registrant.incarnation.epoch or -1)
    block = await controller.call("AllocateProducerIds", request, _ALLOCATE_TIMEOUT_MS)
    return block.first_producer_id, block.count
