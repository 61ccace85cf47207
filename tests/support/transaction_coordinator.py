"""A shard of transactions with a log in memory and brokers that answer at once."""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import TypeVar
from uuid import UUID

from tidelog.group_coordinator.core.records import CoordinatorRecord, Outcome
from tidelog.group_coordinator.core.transactions.markers import SendMarkers
from tidelog.group_coordinator.core.transactions.metadata import ProducerIdAndEpoch, TransactionMetadata
from tidelog.group_coordinator.core.transactions.shard import TransactionLimits, TransactionShard
from tidelog.group_coordinator.core.transactions.state_records import decode_key, decode_value
from tidelog.kafka.cluster import ClusterView, Member, PartitionView, ShardOwner, TopicView
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerEpoch, LeaderEpoch, PartitionIndex, ProducerId, TopicName, TopicPartition
from tidelog.kafka.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.kafka.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tidelog.kafka.wire.messages.end_txn import EndTxnRequest
from tidelog.kafka.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tidelog.kafka.wire.messages.write_txn_markers import (
    TxnMarkerPartitionResult,
    TxnMarkerResult,
    TxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)

A = TypeVar("A")
NAME = "payments"


def tp(topic: str, partition: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionIndex(partition))


def cluster_view(leaders: dict[str, list[int]]) -> ClusterView:
    """Topics with the leader of each partition; brokers 1 to 3; coordinator 7 owns every shard of offsets."""
    internal = {"__transaction_state": [1], "__consumer_offsets": [1] * 50}
    view = ClusterView()
    view.brokers = {id: Member(id, BrokerEpoch(1), ()) for id in (1, 2, 3)}
    view.coordinators = {7: Member(7, BrokerEpoch(1), ())}
    view.topics = {name: _topic(name, of_topic) for name, of_topic in (internal | leaders).items()}
    view.shards = {
        ("__consumer_offsets", index): ShardOwner("__consumer_offsets", index, 7, epoch=0) for index in range(50)
    }
    return view


def _topic(name: str, leaders: list[int]) -> TopicView:
    partitions = {
        index: PartitionView(index, leader, LeaderEpoch(0), (leader,), (leader,))
        for index, leader in enumerate(leaders)
    }
    return TopicView(name, UUID(int=1), partitions)


def all_written(sent: SendMarkers, code: KafkaCode = KafkaCode.NONE) -> WriteTxnMarkersResponse:
    """The answer of a destination that does the same with every marker."""
    return WriteTxnMarkersResponse(
        markers=[
            TxnMarkerResult(
                producer_id=marker.producer_id,
                topics=[
                    TxnMarkerTopicResult(
                        name=topic.name,
                        partitions=[
                            TxnMarkerPartitionResult(partition_index=index, error_code=code)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in sent.request.markers
        ]
    )


def marked(sent: SendMarkers) -> Iterator[tuple[int, int, bool, TopicPartition]]:
    """(producer id, producer epoch, is a commit, partition) of every marker."""
    for marker in sent.request.markers:
        for topic in marker.topics:
            for index in topic.partition_indexes:
                yield marker.producer_id, marker.producer_epoch, marker.transaction_result, tp(topic.name, index)


class Coordinator:
    """One shard after the other over the same log."""

    def __init__(self, limits: TransactionLimits | None = None) -> None:
        self.limits = limits or TransactionLimits()
        self.log: list[CoordinatorRecord] = []
        self.view = cluster_view({"a": [1, 2, 3], "b": [1]})
        self.now_ms = 1_000_000
        self.has_producer_ids = True
        self._ids = count(5000)
        self._epochs = count(0)
        self.restart()

    def restart(self) -> None:
        """The shard moves: everything that was not committed is gone."""
        self.shard = TransactionShard(next(self._epochs), self.limits, self._next_producer_id)
        for record in self.log:
            self.shard.replay(record)

    def _next_producer_id(self) -> ProducerId:
        if not self.has_producer_ids:
            raise KafkaError(KafkaCode.COORDINATOR_LOAD_IN_PROGRESS)
        return ProducerId(next(self._ids))

    def commit(self, outcome: Outcome[A]) -> A:
        for record in outcome.records:
            self.log.append(record)
            self.shard.replay(record)
        return outcome.answer

    # ---- requests, decided but not committed

    def asked_init(
        self, name: str | None = NAME, version: int = 4, timeout_ms: int = 60_000, told: tuple[int, int] = (-1, -1)
    ) -> Outcome[InitProducerIdResponse]:
        request = InitProducerIdRequest(
            transactional_id=name, transaction_timeout_ms=timeout_ms, producer_id=told[0], producer_epoch=told[1]
        )
        return self.shard.init_producer_id(request, version, self.now_ms)

    def asked_add(
        self, who: tuple[int, int], *partitions: TopicPartition, name: str = NAME, version: int = 3
    ) -> Outcome[dict[TopicPartition, int]]:
        topics = [AddPartitionsToTxnTopic(name=each.topic, partitions=[each.partition]) for each in partitions]
        request = AddPartitionsToTxnRequest(
            transactional_id=name, producer_id=who[0], producer_epoch=who[1], topics=topics
        )
        outcome = self.shard.add_partitions(request, version, self.view, self.now_ms)
        codes = {
            tp(topic.name, result.partition_index): result.partition_error_code
            for topic in outcome.answer.results_by_topic
            for result in topic.results_by_partition
        }
        return Outcome(outcome.records, codes)

    def asked_end(self, who: tuple[int, int], commit: bool, name: str = NAME, version: int = 3) -> Outcome[int]:
        request = EndTxnRequest(transactional_id=name, producer_id=who[0], producer_epoch=who[1], committed=commit)
        outcome = self.shard.end(request, version, self.now_ms)
        return Outcome(outcome.records, outcome.answer.error_code)

    # ---- the same, committed

    def init(
        self, name: str | None = NAME, version: int = 4, timeout_ms: int = 60_000, told: tuple[int, int] = (-1, -1)
    ) -> InitProducerIdResponse:
        return self.commit(self.asked_init(name, version, timeout_ms, told))

    def granted(self, name: str = NAME, timeout_ms: int = 60_000, told: tuple[int, int] = (-1, -1)) -> tuple[int, int]:
        response = self.init(name, timeout_ms=timeout_ms, told=told)
        assert response.error_code == KafkaCode.NONE
        return response.producer_id, response.producer_epoch

    def add(
        self, who: tuple[int, int], *partitions: TopicPartition, name: str = NAME, version: int = 3
    ) -> dict[TopicPartition, int]:
        return self.commit(self.asked_add(who, *partitions, name=name, version=version))

    def add_offsets(self, who: tuple[int, int], group: str, name: str = NAME, version: int = 3) -> int:
        request = AddOffsetsToTxnRequest(
            transactional_id=name, producer_id=who[0], producer_epoch=who[1], group_id=group
        )
        return self.commit(self.shard.add_offsets(request, version, self.now_ms)).error_code

    def end(self, who: tuple[int, int], commit: bool, name: str = NAME, version: int = 3) -> int:
        return self.commit(self.asked_end(who, commit, name, version))

    # ---- markers

    def send_due(self) -> tuple[SendMarkers, ...]:
        """What is sent now; completions are committed."""
        due = self.shard.take_due(self.view, self.now_ms)
        for outcome in due.completions:
            self.commit(outcome)
        return due.sends

    def deliver(self) -> list[SendMarkers]:
        """Send until nothing is left to send; every destination writes what it gets."""
        sent: list[SendMarkers] = []
        while sends := self.send_due():
            for each in sends:
                sent.append(each)
                assert self.shard.on_markers_answered(each, all_written(each), self.now_ms) == ()
        return sent

    # ---- what is known

    def metadata(self, name: str = NAME) -> TransactionMetadata:
        found = self.shard.transactions.get(name)
        assert found is not None
        return found.metadata

    def state(self, name: str = NAME) -> str:
        return self.shard.describe(name).transaction_state

    def history(self, name: str = NAME) -> list[tuple[str, int]]:
        """(state, epoch) of every record of the id; tombstones are left out."""
        return [(each.state.text, each.producer_epoch) for each in _values(self.log, name)]

    def verify(self, who: tuple[int, int], *partitions: TopicPartition) -> dict[TopicPartition, int]:
        return dict(self.shard.verify(NAME, ProducerIdAndEpoch.told(*who), partitions))


def _values(log: Iterable[CoordinatorRecord], name: str) -> Iterator[TransactionMetadata]:
    return (decode_value(each.value) for each in log if decode_key(each.key) == name and each.value is not None)
