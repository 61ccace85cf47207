"""Requests that are gathered: merged for each broker, in order, and only to brokers that are there."""

from uuid import UUID

from tests.support.controller_driver import tp
from tidelog.controller.core.assignment import Assignment
from tidelog.controller.core.context import Context
from tidelog.controller.core.effects import Send, Tell
from tidelog.controller.core.leadership import Leadership
from tidelog.controller.core.request_batch import RequestBatch
from tidelog.controller.core.requests import LeaderAndIsr, StopReplica, StopReplicaPartition
from tidelog.kafka.cluster import Member, MetadataUpdate
from tidelog.kafka.types import BrokerEpoch, ControllerEpoch, ControllerId, TopicName

T0 = tp("t")


def batch_of(*brokers: int) -> tuple[Context, RequestBatch]:
    context = Context()
    context.brokers = {id: Member(id, BrokerEpoch(100 + id), ()) for id in brokers}
    context.topic_ids[TopicName("t")] = UUID(int=5)
    context.assign(T0, Assignment((1, 2)))
    context.leaderships[T0] = Leadership(1, (1, 2), leader_epoch=3, partition_epoch=8)
    return context, RequestBatch(context, lambda: MetadataUpdate(ControllerId(0), ControllerEpoch(7), "cluster"))


def test_roles_then_metadata_then_stops_each_to_its_incarnation() -> None:
    _, batch = batch_of(1, 2)
    batch.add_stop_replica(2, T0, delete=True)
    batch.add_leader_and_isr((1,), T0, is_new=False)
    roles, told, stop = batch.take()
    assert isinstance(roles, Send)
    assert isinstance(roles.request, LeaderAndIsr)
    assert (roles.broker, roles.broker_epoch) == (1, 101)
    assert [member.id for member in roles.request.live_leaders] == [1]
    assert roles.request.topic_ids == (("t", UUID(int=5)),)
    assert isinstance(told, Tell)
    assert told.update.topics[0].partitions[0].partition_epoch == 8
    assert stop == Send(2, 102, StopReplica((StopReplicaPartition(T0, 3, delete=True),)))
    assert batch.take() == [], "once"


def test_a_replica_that_is_new_stays_new_until_it_is_told() -> None:
    _, batch = batch_of(1, 2)
    batch.add_leader_and_isr((2,), T0, is_new=True)
    batch.add_leader_and_isr((2,), T0, is_new=False)
    (roles, _) = batch.take()
    assert isinstance(roles, Send)
    assert isinstance(roles.request, LeaderAndIsr)
    assert [each.is_new for each in roles.request.partitions] == [True]


def test_brokers_that_are_gone_get_nothing() -> None:
    _, batch = batch_of(2)
    batch.add_leader_and_isr((1, 9), T0, is_new=False)
    batch.add_stop_replica(1, T0, delete=False)
    assert [type(effect) for effect in batch.take()] == [Tell]


def test_the_epoch_of_a_stop_tells_why() -> None:
    context, batch = batch_of(1)
    context.topics_to_delete.add(TopicName("t"))
    batch.add_stop_replica(1, T0, delete=True)
    batch.add_stop_replica(1, tp("u"), delete=True)
    (stop,) = batch.take()
    assert isinstance(stop, Send)
    assert isinstance(stop.request, StopReplica)
    assert [each.leader_epoch for each in stop.request.partitions] == [-2, -1]
