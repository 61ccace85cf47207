"""Who an idempotent producer is to the brokers, and what to do when they disagree about what it has sent.

A batch that failed for good leaves a gap in its partition's sequence, and the broker will refuse whatever follows. So the
producer takes a new identity (the next epoch of its id) with which every partition starts at 0 again: nothing is sent until
all that is in flight is answered, then all that waits is numbered anew. A transactional producer does that when it aborts.
"""

from collections.abc import Iterable

from tidelog.client.core.partition_queue import PartitionQueue
from tidelog.kafka.records.header import NO_PRODUCER_ID
from tidelog.kafka.records.record import NO_PRODUCER_EPOCH

# The last epoch is the broker's, for fencing.
_EPOCH_MAX = 32766


class ProducerIdentity:
    """Id and epoch, and whether they are due for a change."""

    def __init__(self) -> None:
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.is_reset_wanted = False

    @property
    def is_known(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID

    def take(self, producer_id: int, producer_epoch: int) -> None:
        """The coordinator or a broker has given an identity."""
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch

    def want_reset(self) -> None:
        """Sequences no longer agree with what brokers have."""
        self.is_reset_wanted = True

    def reset(self, queues: Iterable[PartitionQueue]) -> None:
        """Start all sequences anew once nothing is in flight; a worn-out id is given up for a new one."""
        self.is_reset_wanted = False
        if self.producer_epoch >= _EPOCH_MAX:
            self.take(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
        else:
            self.producer_epoch += 1
        for queue in queues:
            queue.renumber()
