"""The Controller service over gRPC: requests become events of the core, its answers become messages."""

from collections.abc import AsyncIterator, Callable

import grpc.aio

from tidelog.controller.core.answers import (
    PartitionsAnswered,
    ProducerIdsAnswered,
    ReassignmentsAnswered,
    ShutdownAnswered,
    TopicsAnswered,
)
from tidelog.controller.core.controller import Controller
from tidelog.controller.core.events import (
    ControlledShutdownRequested,
    CreatePartitionsRequested,
    CreateTopicsRequested,
    DeleteTopicsRequested,
    ElectLeadersRequested,
    ProducerIdsRequested,
    ReassignmentsListRequested,
    ReassignmentsRequested,
)
from tidelog.controller.shell import admin_rpc
from tidelog.controller.shell.admin_desk import AdminDesk
from tidelog.controller.shell.observers import Observers
from tidelog.kafka.cluster import Role
from tidelog.rpc import controller_pb2, controller_pb2_grpc, types_pb2
from tidelog.runtime.cluster_rpc import update_to_rpc

SERVICE_NAME = "tidelog.v1.Controller"
_NO_REGISTRATION = -1

Context = grpc.aio.ServicerContext[object, object]


class ControllerService(controller_pb2_grpc.ControllerServicer):
    """`now_ms` is the clock that deadlines are told by."""

    def __init__(self, core: Controller, desk: AdminDesk, observers: Observers, now_ms: Callable[[], int]) -> None:
        self._core = core
        self._desk = desk
        self._observers = observers
        self._now_ms = now_ms

    async def Observe(
        self, request: controller_pb2.ObserveRequest, context: Context
    ) -> AsyncIterator[types_pb2.UpdateMetadataRequest]:
        async for update in self._observers.follow(self._core.snapshot):
            yield update_to_rpc(update, _NO_REGISTRATION)

    async def ControlledShutdown(
        self, request: controller_pb2.ControlledShutdownRequest, context: Context
    ) -> controller_pb2.ControlledShutdownResponse:
        answer = await self._desk.ask(
            lambda number: ControlledShutdownRequested(number, request.broker_id, request.broker_epoch)
        )
        assert isinstance(answer, ShutdownAnswered)
        remaining = [types_pb2.TopicPartition(topic=p.topic, partition=p.partition) for p in answer.remaining]
        return controller_pb2.ControlledShutdownResponse(remaining=remaining)

    async def AllocateProducerIds(
        self, request: controller_pb2.AllocateProducerIdsRequest, context: Context
    ) -> controller_pb2.AllocateProducerIdsResponse:
        role = Role.GROUP_COORDINATOR if request.is_coordinator else Role.BROKER
        answer = await self._desk.ask(lambda number: ProducerIdsRequested(number, role, request.id, request.epoch))
        assert isinstance(answer, ProducerIdsAnswered)
        return controller_pb2.AllocateProducerIdsResponse(first_producer_id=answer.first, count=answer.count)

    async def CreateTopics(
        self, request: controller_pb2.CreateTopicsRequest, context: Context
    ) -> controller_pb2.TopicResults:
        topics = tuple(map(admin_rpc.new_topic, request.topics))
        deadline_ms = self._now_ms() + request.timeout_ms
        answer = await self._desk.ask(
            lambda number: CreateTopicsRequested(number, topics, deadline_ms, request.validate_only)
        )
        assert isinstance(answer, TopicsAnswered)
        return admin_rpc.topic_results(answer)

    async def DeleteTopics(
        self, request: controller_pb2.DeleteTopicsRequest, context: Context
    ) -> controller_pb2.TopicResults:
        topics = tuple(map(admin_rpc.topic_reference, request.topics))
        deadline_ms = self._now_ms() + request.timeout_ms
        answer = await self._desk.ask(lambda number: DeleteTopicsRequested(number, topics, deadline_ms))
        assert isinstance(answer, TopicsAnswered)
        return admin_rpc.topic_results(answer)

    async def CreatePartitions(
        self, request: controller_pb2.CreatePartitionsRequest, context: Context
    ) -> controller_pb2.TopicResults:
        topics = tuple(map(admin_rpc.more_partitions, request.topics))
        deadline_ms = self._now_ms() + request.timeout_ms
        answer = await self._desk.ask(
            lambda number: CreatePartitionsRequested(number, topics, deadline_ms, request.validate_only)
        )
        assert isinstance(answer, TopicsAnswered)
        return admin_rpc.topic_results(answer)

    async def ElectLeaders(
        self, request: controller_pb2.ElectLeadersRequest, context: Context
    ) -> controller_pb2.PartitionResults:
        partitions = None if request.all_partitions else admin_rpc.partitions(request.partitions)
        unclean = request.election_type == controller_pb2.ElectLeadersRequest.UNCLEAN
        answer = await self._desk.ask(lambda number: ElectLeadersRequested(number, partitions, unclean))
        assert isinstance(answer, PartitionsAnswered)
        return admin_rpc.partition_results(answer)

    async def AlterPartitionReassignments(
        self, request: controller_pb2.AlterPartitionReassignmentsRequest, context: Context
    ) -> controller_pb2.PartitionResults:
        targets = admin_rpc.targets(request.reassignments)
        answer = await self._desk.ask(lambda number: ReassignmentsRequested(number, targets))
        assert isinstance(answer, PartitionsAnswered)
        return admin_rpc.partition_results(answer)

    async def ListPartitionReassignments(
        self, request: controller_pb2.ListPartitionReassignmentsRequest, context: Context
    ) -> controller_pb2.ListPartitionReassignmentsResponse:
        partitions = None if request.all_partitions else admin_rpc.partitions(request.partitions)
        answer = await self._desk.ask(lambda number: ReassignmentsListRequested(number, partitions))
        assert isinstance(answer, ReassignmentsAnswered)
        return admin_rpc.reassignments(answer)
