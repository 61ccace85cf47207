"""The metadata process: streams from the controllers in, gRPC and REST out."""

from tidelog.kafka.configs.metadata import MetadataConfig
from tidelog.metadata.http.app import make_app
from tidelog.metadata.http.serving import serving
from tidelog.metadata.shell.asking import Coordinators
from tidelog.metadata.shell.observing import Observer
from tidelog.metadata.shell.service import SERVICE_NAME, MetadataService
from tidelog.rpc import metadata_pb2_grpc
from tidelog.runtime.cluster_mirror import ClusterMirror
from tidelog.runtime.grpc_edge import Servicer, server
from tidelog.runtime.process import Process


async def serve(config: MetadataConfig, process: Process) -> None:
    mirror = ClusterMirror(process.readiness)
    coordinators = Coordinators(mirror.view)
    observer = Observer(config.controllers, mirror, process.readiness)
    servicers: list[Servicer] = [
        (metadata_pb2_grpc.add_MetadataServicer_to_server, MetadataService(mirror, coordinators))
    ]
    async with (
        coordinators.closed_in_the_end(),
        serving(config.http_listener, make_app(mirror, coordinators, process.pages)),
        server(config.grpc_listener, servicers, [SERVICE_NAME], process.readiness),
        process.background() as tasks,
    ):
        tasks.spawn(observer.run(), "observer")
        await process.stopped()
