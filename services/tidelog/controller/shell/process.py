"""The controller process: ZooKeeper and gRPC around core.Controller."""

from random import SystemRandom

from tidelog.controller.core.controller import Controller
from tidelog.controller.core.events import Registered, RegistrationLost
from tidelog.controller.core.work import Settings
from tidelog.controller.shell.acting import Acting
from tidelog.controller.shell.observers import Observers
from tidelog.controller.shell.reporting import Reporting
from tidelog.controller.shell.service import SERVICE_NAME, ControllerService
from tidelog.controller.shell.timers import deadline_clock, start_timers
from tidelog.kafka.cluster import Role
from tidelog.kafka.configs.controller import ControllerConfig
from tidelog.rpc import controller_pb2_grpc, types_pb2_grpc
from tidelog.runtime import presence
from tidelog.runtime.grpc_edge import Servicer, server
from tidelog.runtime.ops_http import ops_http
from tidelog.runtime.process import Process
from tidelog.zk.membership import Identity, prepare_cluster, registered, registrant_of, zookeeper_session


async def serve(config: ControllerConfig, process: Process) -> None:
    core = Controller(
        config.controller_id,
        early_fencing=config.early_fencing_enable,
        settings=_settings(config),
        randomness=SystemRandom(),
    )
    identity = Identity.of(Role.CONTROLLER, config.controller_id, config)
    session = zookeeper_session(config, process)
    observers = Observers()
    reporting = Reporting(core, process)
    acting = Acting(core, config.controller_id, session, observers, process.clock, reporting)
    registrant = registrant_of(
        identity,
        session,
        process,
        on_registered=lambda _: acting.post(Registered()),
        on_lost=lambda why: acting.post(RegistrationLost(why)),
    )
    service = ControllerService(core, acting.desk, observers, lambda: deadline_clock(process))
    servicers: list[Servicer] = [
        (controller_pb2_grpc.add_ControllerServicer_to_server, service),
        (types_pb2_grpc.add_PresenceServicer_to_server, presence.PresenceService(registrant.incarnation)),
    ]
    async with (
        ops_http(config.ops_listener, process.pages),
        server(config.grpc_listener, servicers, [SERVICE_NAME, presence.SERVICE_NAME], process.readiness),
        session,
        process.background() as tasks,
    ):
        core.cluster_id = await prepare_cluster(session)
        tasks.spawn(acting.run(tasks), "controller")
        start_timers(acting, config, process)
        async with registered(registrant, tasks):
            await process.stopped()


def _settings(config: ControllerConfig) -> Settings:
    return Settings(
        num_partitions=config.num_partitions,
        default_replication_factor=config.default_replication_factor,
        delete_topic_enable=config.delete_topic_enable,
        unclean_leader_election_enable=config.unclean_leader_election_enable,
        leader_imbalance_per_broker_percentage=config.leader_imbalance_per_broker_percentage,
    )
