"""May this request be served here: the checks of leadership and of the leader epoch that a request carries."""

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerId

NO_EPOCH = -1


def check_leader_epoch(requested_epoch: int, leader_epoch: int, *, is_leader: bool, leader_only: bool = True) -> None:
    """Compare the epoch a client or follower believes in with ours, and refuse if we do not lead but must.

    Fetch, ListOffsets and OffsetForLeaderEpoch carry one; -1 stands for none. The epoch is compared first: it tells an
    outdated client more than that it came to the wrong broker.
    """
    if requested_epoch != leader_epoch and requested_epoch != NO_EPOCH:
        if requested_epoch < leader_epoch:
            raise KafkaError(KafkaCode.FENCED_LEADER_EPOCH)
        raise KafkaError(KafkaCode.UNKNOWN_LEADER_EPOCH)
    if leader_only and not is_leader:
        raise KafkaError(KafkaCode.NOT_LEADER_OR_FOLLOWER)


def not_a_replica(broker_id: BrokerId, *, epoch_given: bool) -> KafkaError:
    """A broker fetches that we do not know as a replica: it may be of an assignment that we have not heard of yet."""
    code = KafkaCode.UNKNOWN_LEADER_EPOCH if epoch_given else KafkaCode.NOT_LEADER_OR_FOLLOWER
    return KafkaError(code, f"Broker {broker_id} is not an assigned replica.")
