"""Metadata that is pushed: a stream that shows every change of the cluster, and survives the death of controllers."""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import grpc

from tests.support.services import Service, Services
from tests.support.waiting import WAIT_S
from tidelog.rpc import metadata_pb2, metadata_pb2_grpc, types_pb2


@contextmanager
def watching(metadata: Service) -> Iterator["queue.Queue[types_pb2.ClusterMetadata]"]:
    """Everything that WatchMetadata says, as it says it."""
    heard: queue.Queue[types_pb2.ClusterMetadata] = queue.Queue()
    with grpc.insecure_channel(metadata.grpc) as channel:
        stream = metadata_pb2_grpc.MetadataStub(channel).WatchMetadata(metadata_pb2.WatchMetadataRequest())

        def listen() -> None:
            try:
                for one in stream:
                    heard.put(one)
            except grpc.RpcError:
                return

        listener = threading.Thread(target=listen)
        listener.start()
        try:
            yield heard
        finally:
            stream.cancel()
            listener.join(WAIT_S)


def next_with_brokers(heard: "queue.Queue[types_pb2.ClusterMetadata]", brokers: set[int]) -> types_pb2.ClusterMetadata:
    while True:
        told = heard.get(timeout=WAIT_S)
        if {broker.id for broker in told.brokers} == brokers:
            return told


def next_of_epoch(heard: "queue.Queue[types_pb2.ClusterMetadata]", epoch: int) -> types_pb2.ClusterMetadata:
    """The first thing that was told in that controller epoch."""
    while (told := heard.get(timeout=WAIT_S)).controller_epoch < epoch:
        continue
    assert told.controller_epoch == epoch
    return told


def test_a_watcher_sees_brokers_come_and_go_under_changing_controllers(services: Services) -> None:
    services.common = {"zookeeper.session.timeout.ms": "30000"}
    controllers = [services.start("controller", id).wait_ready() for id in (0, 1)]
    metadata = services.start("metadata", 0).wait_ready()
    with watching(metadata) as heard:
        first = next_with_brokers(heard, set())
        broker = services.start("broker", 1).wait_ready()
        assert next_with_brokers(heard, {1}).controller_epoch == first.controller_epoch
        controllers[first.controller_id].kill()
        told = next_of_epoch(heard, first.controller_epoch + 1)
        assert {member.id for member in told.brokers} == {1}, "a new controller knows the brokers from the start"
        broker.kill()
        next_with_brokers(heard, set())
