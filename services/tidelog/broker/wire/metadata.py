"""Metadata (3), served in versions 0 to 12.

- v0: brokers, topics, partitions with leader, replicas and in-sync replicas; an empty list of topics asks for all.
  Replicas on dead brokers are left out, with error 9.
- v1: racks, the controller, internal topics; null asks for all topics, an empty list for none.
- v2: cluster id.  v3: throttle time.  v4: the client says whether an unknown topic may be created.
- v5: offline replicas.  v6: error 72 where the leader lacks the listener.  v7: leader epochs.
- v8: authorized operations.  v9: flexible.  v10: topic ids in answers.
- v11: without the cluster's authorized operations, which DescribeCluster has.  v12: topics asked for by id.

An unknown topic is created if the client allows it (before v4 every one does) and auto.create.topics.enable is set. The
answer does not wait for it: the client is told to ask again.

A partition whose leader died a moment ago has none: error 5, also before the controller has found a new one. The same is
said of every topic by a broker that has just started and was not told of any: a client that hears that its topic does not
exist may give it up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.wire.endpoints import reachable_brokers
from tidelog.broker.wire.operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from tidelog.kafka.cluster import INTERNAL_TOPICS, NO_LEADER, PartitionView, TopicView
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import check_topic_name
from tidelog.kafka.wire.messages.metadata import (
    METADATA,
    OPERATIONS_NOT_ASKED,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tidelog.kafka.wire.primitives import ZERO_UUID
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedApi

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Protocol
    from uuid import UUID

    from tidelog.kafka.cluster import ClusterView, Member

    class Departures(Protocol):
        """Knows who died a moment ago."""

        def lost_leaders(self) -> Collection[int]:
            """Brokers that do not listen any more, though the controller has not said so yet."""
            ...

        @property
        def still_listed(self) -> Collection[Member]:
            """Brokers that are gone, but not yet for clients."""
            ...

    class TopicCreation(Protocol):
        """Has topics created that clients ask for."""

        @property
        def is_enabled(self) -> bool: ...
        def create(self, names: Iterable[str]) -> dict[str, KafkaCode]:
            """What clients are told in the meantime."""
            ...


def served(view: ClusterView, creation: TopicCreation, departures: Departures) -> ServedApi:
    return ServedApi(METADATA, parse_versions("0-12"), partial(_answer, view, creation, departures))


def _answer(
    view: ClusterView,
    creation: TopicCreation,
    departures: Departures,
    context: RequestContext,
    request: MetadataRequest,
) -> MetadataResponse:
    reachable = reachable_brokers(view, context.listener)
    leaders = reachable.keys() - departures.lost_leaders()
    asked_operations = request.include_cluster_authorized_operations
    topics = _Topics(view, reachable, leaders, context.version, request).answers()
    # Where a version lacks the field, its default says yes.
    if creation.is_enabled and request.allow_auto_topic_creation:
        _create_missing(creation, topics)
    listed = reachable_brokers(view, context.listener, departures.still_listed)
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=member.id, host=endpoint.host, port=endpoint.port, rack=member.rack)
            for member, endpoint in listed.values()
        ],
        cluster_id=view.cluster_id,
        controller_id=view.controller_id,
        topics=topics,
        cluster_authorized_operations=CLUSTER_OPERATIONS if asked_operations else OPERATIONS_NOT_ASKED,
    )


def _create_missing(creation: TopicCreation, topics: list[MetadataResponseTopic]) -> None:
    unknown = KafkaCode.UNKNOWN_TOPIC_OR_PARTITION
    missing = {topic.name: topic for topic in topics if topic.error_code == unknown and topic.name is not None}
    for name, code in creation.create(missing).items():
        missing[name].error_code = code


@dataclass(frozen=True, slots=True)
class _Topics:
    """The topics of one answer."""

    view: ClusterView
    reachable: Collection[int]
    leaders: Collection[int]
    version: int
    request: MetadataRequest

    def answers(self) -> list[MetadataResponseTopic]:
        asked = self.request.topics
        if asked is None or (self.version == 0 and not asked):
            return [self._known(topic) for topic in self.view.topics.values()]
        # A topic asked for twice is answered once.
        distinct = {(topic.topic_id, topic.name): topic for topic in asked}
        return [self._asked(topic) for topic in distinct.values()]

    def _asked(self, topic: MetadataRequestTopic) -> MetadataResponseTopic:
        by_id = topic.name is None or topic.topic_id != ZERO_UUID
        if by_id and self.version < 12:
            # v10 and v11 have the fields already, but a topic is asked for by name alone.
            return MetadataResponseTopic(error_code=KafkaCode.INVALID_REQUEST, name=topic.name or "")
        return self._by_id(topic.topic_id) if by_id else self._by_name(topic.name or "")

    def _by_id(self, topic_id: UUID) -> MetadataResponseTopic:
        known = self.view.topics.get(self.view.topic_names.get(topic_id, ""))
        if known is None:
            code = self._code_of_unknown(KafkaCode.UNKNOWN_TOPIC_ID)
            return MetadataResponseTopic(error_code=code, name=None, topic_id=topic_id)
        return self._known(known)

    def _by_name(self, name: str) -> MetadataResponseTopic:
        known = self.view.topics.get(name)
        return self._unknown(name) if known is None else self._known(known)

    def _unknown(self, name: str) -> MetadataResponseTopic:
        code = self._code_of_unknown(KafkaCode.UNKNOWN_TOPIC_OR_PARTITION)
        try:
            check_topic_name(name)
        except KafkaError as refusal:
            code = refusal.code
        return MetadataResponseTopic(error_code=code, name=name, is_internal=name in INTERNAL_TOPICS)

    def _code_of_unknown(self, code: KafkaCode) -> KafkaCode:
        return code if self.view.knows_topics else KafkaCode.LEADER_NOT_AVAILABLE

    def _known(self, topic: TopicView) -> MetadataResponseTopic:
        asked_operations = self.request.include_topic_authorized_operations
        return MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.internal,
            partitions=[self._partition(partition) for partition in topic.partitions.values()],
            topic_authorized_operations=TOPIC_OPERATIONS if asked_operations else OPERATIONS_NOT_ASKED,
        )

    def _partition(self, partition: PartitionView) -> MetadataResponsePartition:
        replicas, isr = self._shown(partition.replicas), self._shown(partition.isr)
        code = self._error_of_leader(partition.leader)
        hides_some = len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr)
        brokers = self.view.brokers
        return MetadataResponsePartition(
            error_code=code or (KafkaCode.REPLICA_NOT_AVAILABLE if hides_some else KafkaCode.NONE),
            partition_index=partition.index,
            leader_id=NO_LEADER if code else partition.leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=replicas,
            isr_nodes=isr,
            offline_replicas=[
                one for one in partition.replicas if one not in brokers or one in partition.offline_replicas
            ],
        )

    def _shown(self, replicas: tuple[int, ...]) -> list[int]:
        """The oldest clients cannot cope with replicas on brokers that they are not told of."""
        if self.version > 0:
            return list(replicas)
        return [replica for replica in replicas if replica in self.reachable]

    def _error_of_leader(self, leader: int) -> KafkaCode:
        if leader in self.leaders:
            return KafkaCode.NONE
        if leader in self.view.brokers and leader not in self.reachable and self.version >= 6:
            return KafkaCode.LISTENER_NOT_FOUND
        return KafkaCode.LEADER_NOT_AVAILABLE
