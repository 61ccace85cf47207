"""What happens when partitions enter a state. The table of which state may follow which is in `states`.

NEW           nothing: the assignment is known, there is no state znode
ONLINE        from NEW: the first live replica leads, all live ones are in sync, epoch 0; the state znode is created and
              the replicas are told that they are new. With no live replica it stays NEW.
              from ONLINE or OFFLINE: an election. If nobody qualifies the partition stays as it is.
OFFLINE       nothing
NON_EXISTENT  forgotten
"""

from collections.abc import Iterable

from tidelog.controller.core import elections, store
from tidelog.controller.core.effects import What
from tidelog.controller.core.elections import Election, Strategy
from tidelog.controller.core.leadership import Leadership
from tidelog.controller.core.state_changes import States, change_states
from tidelog.controller.core.states import PARTITION_PREVIOUS, PartitionStatus
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task
from tidelog.kafka.types import TopicName, TopicPartition

_UNCLEAN = "unclean.leader.election.enable"


def enter(
    work: Work,
    partitions: Iterable[TopicPartition],
    status: PartitionStatus,
    strategy: Strategy = Strategy.OFFLINE,
) -> Task[set[TopicPartition]]:
    """Change the state of these partitions, tell the brokers, and give those that entered it."""
    valid = [partition for partition in partitions if _may_enter(work, partition, status)]
    entered = set(valid)
    if status is PartitionStatus.ONLINE:
        entered = yield from _bring_online(work, valid, strategy)
    for partition in entered:
        work.context.partition_status[partition] = status
    if status is PartitionStatus.NON_EXISTENT:
        for partition in entered:
            del work.context.partition_status[partition]
    work.send()
    return entered


def elect_where_needed(work: Work) -> Task[None]:
    """Try to find leaders for all partitions that are new or offline."""
    waiting = work.context.partitions_without_leaders()
    if waiting:
        yield from enter(work, waiting, PartitionStatus.ONLINE)


def _may_enter(work: Work, partition: TopicPartition, status: PartitionStatus) -> bool:
    current = work.context.status_of(partition)
    if current in PARTITION_PREVIOUS[status]:
        return True
    work.note(What.INVALID_TRANSITION, partition, f"a partition cannot become {status.name} from {current.name}")
    return False


def _bring_online(work: Work, partitions: list[TopicPartition], strategy: Strategy) -> Task[set[TopicPartition]]:
    new = [p for p in partitions if work.context.status_of(p) is PartitionStatus.NEW]
    initialized, found = yield from _initialize(work, new)
    to_elect = [p for p in partitions if work.context.status_of(p) is not PartitionStatus.NEW]
    elected = yield from _elect(work, [*to_elect, *found], strategy)
    return initialized | elected


def _initialize(work: Work, partitions: list[TopicPartition]) -> Task[tuple[set[TopicPartition], set[TopicPartition]]]:
    """The partitions that got their first state, and those that turn out to have one already."""
    first = {p: state for p in partitions if (state := _first_state(work, p)) is not None}
    created = yield from store.create_states(work, first)
    work.context.leaderships.update(created)
    for partition in created:
        work.batch.add_leader_and_isr(created[partition].isr, partition, is_new=True)
        work.note(What.PARTITION_CREATED, partition, f"led by {created[partition].leader}")
    found = yield from store.read_states(work, first.keys() - created.keys())
    return set(created), set(found)


def _first_state(work: Work, partition: TopicPartition) -> Leadership | None:
    live = tuple(id for id in work.context.replicas(partition) if work.context.is_live(id, partition))
    if not live:
        work.note(What.ELECTION_FAILED, partition, "none of its replicas is live", "new partition")
        return None
    return Leadership(live[0], live)


def _elect(work: Work, partitions: list[TopicPartition], strategy: Strategy) -> Task[set[TopicPartition]]:
    held: dict[TopicPartition, Election] = {}

    def decide(found: States) -> Task[States]:
        unclean_topics = yield from _topics_allowing_unclean(work, found, strategy)
        now = {p: _hold(work, p, known, strategy, unclean_topics) for p, known in found.items()}
        successful = {partition: election for partition, election in now.items() if election is not None}
        held.update(successful)
        return {partition: election.leadership for partition, election in successful.items()}

    changed = yield from change_states(work, partitions, decide)
    for partition, leadership in changed.unchanged.items():
        work.note(What.ELECTION_FAILED, partition, f"no replica qualifies, {_described(leadership)}", strategy.name)
    for partition, leadership in changed.written.items():
        work.batch.add_leader_and_isr(held[partition].told, partition, is_new=False)
        what = What.UNCLEAN_ELECTION if leadership.recovering else What.ELECTION
        work.note(what, partition, _described(leadership), strategy.name)
    return set(changed.written)


def _described(leadership: Leadership) -> str:
    return f"leader {leadership.leader} epoch {leadership.leader_epoch} isr {list(leadership.isr)}"


def _hold(
    work: Work, partition: TopicPartition, known: Leadership, strategy: Strategy, unclean_topics: set[TopicName]
) -> Election | None:
    context, assignment = work.context, work.context.assignment(partition)
    if assignment is None:
        return None

    def is_live(id: int) -> bool:
        return context.is_live(id, partition)

    match strategy:
        case Strategy.OFFLINE | Strategy.OFFLINE_UNCLEAN:
            unclean_allowed = partition.topic in unclean_topics
            return elections.elect_offline(assignment, known, is_live, unclean_allowed=unclean_allowed)
        case Strategy.REASSIGN:
            return elections.elect_for_reassignment(assignment, known, is_live)
        case Strategy.PREFERRED:
            return elections.elect_preferred(assignment, known, is_live)
        case Strategy.CONTROLLED_SHUTDOWN:
            return elections.elect_for_shutdown(
                assignment,
                known,
                lambda id: context.is_live(id, partition, or_shutting_down=True),
                context.shutting_down.__contains__,
            )


def _topics_allowing_unclean(work: Work, found: States, strategy: Strategy) -> Task[set[TopicName]]:
    """Asked only of topics that need it: the configuration is read when it matters, and then as it is now."""
    if strategy is Strategy.OFFLINE_UNCLEAN:
        return {partition.topic for partition in found}
    if strategy is not Strategy.OFFLINE:
        return set()
    lost = {p.topic for p, known in found.items() if not _has_live_in_sync(work, p, known)}
    if not lost:
        return set()
    shared = yield from store.read_cluster_config()
    default = shared.get(_UNCLEAN, str(work.settings.unclean_leader_election_enable))
    configs = yield from store.read_topic_configs(lost)
    return {topic for topic in lost if configs[topic].get(_UNCLEAN, default).strip().lower() == "true"}


def _has_live_in_sync(work: Work, partition: TopicPartition, known: Leadership) -> bool:
    assignment = work.context.assignment(partition)
    is_live = work.context.is_live
    return assignment is not None and elections.has_live_in_sync(assignment, known, lambda id: is_live(id, partition))
