"""Elections that somebody asks for, and those that give leadership back to preferred replicas by themselves."""

from collections.abc import Iterable

from tidelog.controller.core import partition_states
from tidelog.controller.core import zk_requests as zk
from tidelog.controller.core.answers import Result
from tidelog.controller.core.effects import What
from tidelog.controller.core.elections import Strategy
from tidelog.controller.core.states import PartitionStatus
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import TopicPartition
from tidelog.zk.operations import Delete
from tidelog.zk.znodes import MalformedZnode, PreferredElectionZnode

Results = dict[TopicPartition, Result]

_UNKNOWN = Result(KafkaCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
_DELETING = Result(KafkaCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted.")
_NOT_NEEDED = Result(KafkaCode.ELECTION_NOT_NEEDED, "Leader election not needed for this partition.")
_NO_PREFERRED = Result(KafkaCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred replica is not live and in sync.")
_NO_ELIGIBLE = Result(KafkaCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "No replica of the partition is live.")


def elect_leaders(work: Work, partitions: Iterable[TopicPartition] | None, *, unclean: bool) -> Task[Results]:
    """The preferred replica of each partition, or with `unclean` any leader for one that has none; None means all."""
    asked = list(dict.fromkeys(work.context.partitions() if partitions is None else partitions))
    results = {p: refusal for p in asked if (refusal := _refusal(work, p, unclean=unclean)) is not None}
    electable = [partition for partition in asked if partition not in results]
    strategy = Strategy.OFFLINE_UNCLEAN if unclean else Strategy.PREFERRED
    elected = yield from partition_states.enter(work, electable, PartitionStatus.ONLINE, strategy)
    failed = _NO_ELIGIBLE if unclean else _NO_PREFERRED
    results.update((partition, Result() if partition in elected else failed) for partition in electable)
    if partitions is None:
        return {partition: result for partition, result in results.items() if result is not _NOT_NEEDED}
    return results


def _refusal(work: Work, partition: TopicPartition, *, unclean: bool) -> Result | None:
    replicas, leadership = work.context.replicas(partition), work.context.leaderships.get(partition)
    if not replicas:
        return _UNKNOWN
    if work.context.is_deleting(partition.topic):
        return _DELETING
    if leadership is None:
        return None
    is_led = work.context.is_live(leadership.leader, partition) if unclean else leadership.leader == replicas[0]
    return _NOT_NEEDED if is_led else None


def rebalance(work: Work) -> Task[None]:
    """Give leadership back to every broker that lost too great a share of what it should lead."""
    due = [p for id in sorted(work.context.brokers) for p in _to_give_back(work, id)]
    if due and not work.context.reassigning:
        yield from partition_states.enter(work, due, PartitionStatus.ONLINE, Strategy.PREFERRED)


def _to_give_back(work: Work, broker: int) -> list[TopicPartition]:
    context = work.context
    preferred = [p for p in context.partitions_with_leaders() if context.replicas(p)[:1] == (broker,)]
    elsewhere = [partition for partition in preferred if context.leaderships[partition].leader != broker]
    if len(elsewhere) * 100 <= len(preferred) * work.settings.leader_imbalance_per_broker_percentage:
        return []
    return [p for p in elsewhere if context.is_live(broker, p) and broker in context.leaderships[p].isr]


def on_legacy_elections(work: Work) -> Task[None]:
    """/admin/preferred_replica_election: elect what it names, and remove it, which tells the tool."""
    node = yield from zk.read_one(PreferredElectionZnode.PATH)
    if node is None:
        return
    try:
        partitions = PreferredElectionZnode.decode(node.data)
    except MalformedZnode as error:
        work.note(What.MALFORMED_ZNODE, PreferredElectionZnode.PATH, str(error))
        partitions = ()
    yield from elect_leaders(work, partitions, unclean=False)
    yield from zk.write([Delete(PreferredElectionZnode.PATH)])
