"""Admin requests: which handler does each, and how its outcome becomes an answer."""

from collections.abc import Callable
from functools import partial

from tidelog.controller.core import brokers, preferred, producer_ids, reassignment_requests, topic_requests
from tidelog.controller.core.answers import (
    Answer,
    PartitionsAnswered,
    ProducerIdsAnswered,
    ReassignmentsAnswered,
    Refused,
)
from tidelog.controller.core.effects import Reply
from tidelog.controller.core.events import (
    AdminRequest,
    ControlledShutdownRequested,
    CreatePartitionsRequested,
    CreateTopicsRequested,
    DeleteTopicsRequested,
    ElectLeadersRequested,
    ProducerIdsRequested,
    ReassignmentsListRequested,
    ReassignmentsRequested,
)
from tidelog.controller.core.topic_requests import Results
from tidelog.controller.core.waiting import WaitingAnswers
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task
from tidelog.kafka.cluster import Role
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import TopicName

TopicRequest = CreateTopicsRequested | CreatePartitionsRequested | DeleteTopicsRequested


def not_active(event: AdminRequest) -> Reply:
    """What a process answers that is not, or no longer, the active controller."""
    shutdown = isinstance(event, ControlledShutdownRequested)
    code = KafkaCode.STALE_CONTROLLER_EPOCH if shutdown else KafkaCode.NOT_CONTROLLER
    return Reply(event.request, Refused(code, "This process is not the active controller."))


def serve(work: Work, waiting: WaitingAnswers, event: AdminRequest) -> Task[None]:
    """Carry the request out; the reply comes now or, for topics, when the change is complete."""
    if isinstance(event, TopicRequest):
        results, is_done = yield from _served_topics(work, event)
        waiting.add(event.request, event.deadline_ms, results, is_done)
        return
    try:
        answer = yield from _served(work, event)
    except KafkaError as refusal:
        answer = Refused(refusal.code, refusal.message)
    work.outbox.append(Reply(event.request, answer))


def _served_topics(work: Work, event: TopicRequest) -> Task[tuple[Results, Callable[[TopicName], bool]]]:
    match event:
        case CreateTopicsRequested(topics=topics, validate_only=validate_only):
            results = yield from topic_requests.create_topics(work, topics, validate_only=validate_only)
        case CreatePartitionsRequested(topics=topics, validate_only=validate_only):
            results = yield from topic_requests.create_partitions(work, topics, validate_only=validate_only)
        case DeleteTopicsRequested(topics=topics):
            results = yield from topic_requests.delete_topics(work, topics)
            return results, partial(topic_requests.is_deleted, work)
    return results, (lambda _: True) if validate_only else partial(topic_requests.is_created, work)


def _served(work: Work, event: AdminRequest) -> Task[Answer]:
    match event:
        case ElectLeadersRequested(partitions=partitions, unclean=unclean):
            return PartitionsAnswered((yield from preferred.elect_leaders(work, partitions, unclean=unclean)))
        case ReassignmentsRequested(targets=targets):
            return PartitionsAnswered((yield from reassignment_requests.reassign_partitions(work, targets)))
        case ReassignmentsListRequested(partitions=partitions):
            return ReassignmentsAnswered(reassignment_requests.listed(work, partitions))
        case ControlledShutdownRequested(broker=broker, broker_epoch=epoch):
            return (yield from brokers.shut_down(work, broker, epoch))
        case ProducerIdsRequested():
            return (yield from _producer_ids(work, event))
        case _:
            raise AssertionError(f"{event} is served elsewhere")


def _producer_ids(work: Work, event: ProducerIdsRequested) -> Task[ProducerIdsAnswered]:
    members = work.context.coordinators if event.role is Role.GROUP_COORDINATOR else work.context.brokers
    member = members.get(event.id)
    if member is None:
        raise KafkaError(KafkaCode.BROKER_ID_NOT_REGISTERED, f"No {event.role} {event.id} is registered.")
    if member.epoch != event.epoch:
        message = f"The {event.role} {event.id} has epoch {member.epoch}, not {event.epoch}."
        raise KafkaError(KafkaCode.STALE_BROKER_EPOCH, message)
    return (yield from producer_ids.allocate(event.id))
