"""What is durably known of one transactional id: the value of its newest record in __transaction_state."""

from dataclasses import dataclass
from typing import Final, Self

from tidelog.group_coordinator.core.transactions.states import TransactionState
from tidelog.kafka.types import ProducerEpoch, ProducerId, TopicPartition

NO_TIME_MS: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
# The last epoch that a producer is given. The one above it, the highest of an int16, is left for fencing it.
LAST_PRODUCER_EPOCH: Final = 32766


@dataclass(frozen=True, slots=True)
class ProducerIdAndEpoch:
    """Who a producer says it is."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch

    @classmethod
    def told(cls, producer_id: int, producer_epoch: int) -> Self:
        """As a request tells it."""
        return cls(ProducerId(producer_id), ProducerEpoch(producer_epoch))


@dataclass(frozen=True, slots=True)
class TransactionMetadata:
    """The durable state of a transactional id; never changed, only replaced by the next record."""

    producer_id: ProducerId
    producer_epoch: ProducerEpoch
    timeout_ms: int
    state: TransactionState
    partitions: frozenset[TopicPartition]
    last_update_ms: int
    start_ms: int = NO_TIME_MS

    @property
    def producer(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch)
