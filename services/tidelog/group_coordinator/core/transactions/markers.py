"""The markers of decided transactions: which partitions still need theirs, and what the answers mean.

A marker is sent until it is known to be written, over every loss and refusal, because the result is already decided. A
partition may so get the same marker twice, which changes nothing there. Two refusals say that another coordinator has
this transaction in its hands: INVALID_PRODUCER_EPOCH and TRANSACTION_COORDINATOR_FENCED. Nothing more is sent then.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tidelog.group_coordinator.core.transactions.destinations import Destination, destination_of, is_deleted
from tidelog.group_coordinator.core.transactions.metadata import TransactionMetadata
from tidelog.group_coordinator.core.transactions.state_records import by_topic
from tidelog.group_coordinator.core.transactions.states import PREPARED, TransactionState
from tidelog.kafka.cluster import ClusterView
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition
from tidelog.kafka.wire.messages.write_txn_markers import (
    TxnMarker,
    TxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

# How long a partition that refused its marker, or that has no leader, is left alone: Kafka's retry.backoff.ms.
MARKER_RETRY_MS = 100
_CANCELS = frozenset({KafkaCode.INVALID_PRODUCER_EPOCH, KafkaCode.TRANSACTION_COORDINATOR_FENCED})


@dataclass(frozen=True, slots=True)
class SendMarkers:
    """Send this there, and tell the core of its answer or of its loss, exactly once."""

    number: int
    destination: Destination
    request: WriteTxnMarkersRequest


@dataclass(slots=True, eq=False)
class _Delivery:
    """One decided transaction: from which time on each partition without an answer may be sent its marker."""

    transactional_id: str
    metadata: TransactionMetadata
    due_ms: dict[TopicPartition, int]
    in_flight: set[TopicPartition] = field(default_factory=set)
    completion_due_ms: int = 0
    is_cancelled: bool = False

    @property
    def is_done(self) -> bool:
        return not (self.due_ms or self.in_flight or self.is_cancelled)

    @property
    def next_due_ms(self) -> int | None:
        """When something can be sent, or completed, again; None if answers must come first."""
        if self.is_done:
            return self.completion_due_ms
        return None if self.is_cancelled else min(self.due_ms.values(), default=None)

    def on_answered(self, partition: TopicPartition, code: int | None, retry_at_ms: int) -> None:
        self.in_flight.discard(partition)
        if code in _CANCELS:
            self.is_cancelled = True
        elif code != KafkaCode.NONE:
            self.due_ms[partition] = retry_at_ms


class Markers:
    """The markers that one shard has to see written."""

    def __init__(self, coordinator_epoch: int) -> None:
        self._coordinator_epoch = coordinator_epoch
        self._deliveries: dict[str, _Delivery] = {}
        self._sent: dict[int, list[tuple[_Delivery, TopicPartition]]] = {}
        self._next_number = 0

    def follow(self, transactional_id: str, metadata: TransactionMetadata | None) -> None:
        """This is durable now: markers are needed if it decides a transaction, and no longer if it does not."""
        self._deliveries.pop(transactional_id, None)
        if metadata is not None and metadata.state in PREPARED:
            due_ms = dict.fromkeys(sorted(metadata.partitions), 0)
            self._deliveries[transactional_id] = _Delivery(transactional_id, metadata, due_ms)

    def take_due(self, view: ClusterView, now_ms: int) -> tuple[SendMarkers, ...]:
        """What is to be sent now, one request a destination."""
        sends: dict[Destination, list[tuple[_Delivery, TopicPartition]]] = {}
        for delivery, partition in self._take_due(now_ms):
            destination = destination_of(partition, view)
            if destination is not None:
                delivery.in_flight.add(partition)
                sends.setdefault(destination, []).append((delivery, partition))
            elif not is_deleted(partition, view):
                delivery.due_ms[partition] = now_ms + MARKER_RETRY_MS
        return tuple(self._send(destination, sends[destination]) for destination in sorted(sends))

    def done(self, now_ms: int) -> list[str]:
        """The transactional ids whose partitions have all got their markers, or are gone."""
        return [
            delivery.transactional_id
            for delivery in self._deliveries.values()
            if delivery.is_done and delivery.completion_due_ms <= now_ms
        ]

    def postpone_completion(self, transactional_id: str, now_ms: int) -> None:
        """The end of this transaction could not be written; leave the log alone for a moment."""
        if delivery := self._deliveries.get(transactional_id):
            delivery.completion_due_ms = now_ms + MARKER_RETRY_MS

    def next_due_ms(self, now_ms: int) -> int | None:
        """When there is work again. What is due already was handed out, so only later times count."""
        times = (delivery.next_due_ms for delivery in self._deliveries.values())
        return min((due_ms for due_ms in times if due_ms is not None and due_ms > now_ms), default=None)

    def on_answered(self, sent: SendMarkers, response: WriteTxnMarkersResponse, now_ms: int) -> tuple[str, ...]:
        """The transactional ids that another coordinator turns out to have; they are left to it."""
        codes = {
            (marker.producer_id, TopicPartition(TopicName(topic.name), PartitionIndex(result.partition_index))): (
                result.error_code
            )
            for marker in response.markers
            for topic in marker.topics
            for result in topic.partitions
        }
        answered = self._sent.pop(sent.number, [])
        for delivery, partition in answered:
            # A partition that the answer leaves out is as good as lost.
            code = codes.get((delivery.metadata.producer_id, partition))
            delivery.on_answered(partition, code, now_ms + MARKER_RETRY_MS)
        return tuple(dict.fromkeys(each.transactional_id for each, _ in answered if each.is_cancelled))

    def on_lost(self, sent: SendMarkers, now_ms: int) -> None:
        """There will be no answer; whether the markers were written is not known."""
        for delivery, partition in self._sent.pop(sent.number, []):
            delivery.on_answered(partition, None, now_ms + MARKER_RETRY_MS)

    def _take_due(self, now_ms: int) -> Iterator[tuple[_Delivery, TopicPartition]]:
        for delivery in self._deliveries.values():
            if delivery.is_cancelled:
                continue
            due = [partition for partition, due_ms in delivery.due_ms.items() if due_ms <= now_ms]
            for partition in due:
                del delivery.due_ms[partition]
                yield delivery, partition

    def _send(self, destination: Destination, parts: list[tuple[_Delivery, TopicPartition]]) -> SendMarkers:
        self._next_number += 1
        self._sent[self._next_number] = parts
        grouped: dict[_Delivery, list[TopicPartition]] = {}
        for delivery, partition in parts:
            grouped.setdefault(delivery, []).append(partition)
        markers = [self._marker(delivery.metadata, partitions) for delivery, partitions in grouped.items()]
        return SendMarkers(self._next_number, destination, WriteTxnMarkersRequest(markers=markers))

    def _marker(self, metadata: TransactionMetadata, partitions: Iterable[TopicPartition]) -> TxnMarker:
        return TxnMarker(
            producer_id=metadata.producer_id,
            producer_epoch=metadata.producer_epoch,
            transaction_result=metadata.state is TransactionState.PREPARE_COMMIT,
            topics=[
                TxnMarkerTopic(name=name, partition_indexes=indexes) for name, indexes in by_topic(partitions).items()
            ],
            coordinator_epoch=self._coordinator_epoch,
        )
