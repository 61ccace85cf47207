"""Changes of ISRs, which leaders write themselves and announce under /isr_change_notification."""

from collections.abc import Iterable

from tidelog.controller.core import reassignment, store
from tidelog.controller.core import zk_requests as zk
from tidelog.controller.core.effects import What
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task
from tidelog.kafka.types import TopicPartition
from tidelog.zk.operations import Delete
from tidelog.zk.znodes import ISR_CHANGES, IsrChangeZnode, MalformedZnode


def on_isr_changes(work: Work) -> Task[None]:
    """Take over what was announced, then remove the announcements."""
    names = yield from zk.children(ISR_CHANGES)
    paths = [f"{ISR_CHANGES}/{name}" for name in names]
    found = yield from zk.read(paths)
    partitions = {partition for node in found if node for partition in _named(work, node)}
    yield from on_states_changed(work, partitions)
    yield from zk.write(map(Delete, paths))


def on_states_changed(work: Work, partitions: Iterable[TopicPartition]) -> Task[None]:
    """Read these states again and tell everybody what is new; reassignments may be complete by that."""
    known = [partition for partition in partitions if work.context.assignment(partition) is not None]
    found = yield from store.read_states(work, known)
    changed = {
        partition: state for partition, state in found.items() if work.context.leaderships.get(partition) != state
    }
    work.context.leaderships.update(changed)
    for partition, state in changed.items():
        why = f"leader {state.leader} epoch {state.leader_epoch} wrote isr {list(state.isr)}"
        work.note(What.ISR_CHANGED, partition, why)
    if changed:
        work.batch.add_metadata(changed)
        work.send()
    yield from reassignment.complete_where_in_sync(work, known)


def _named(work: Work, node: zk.Found) -> tuple[TopicPartition, ...]:
    try:
        return IsrChangeZnode.decode(node.data)
    except MalformedZnode as error:
        work.note(What.MALFORMED_ZNODE, ISR_CHANGES, str(error))
        return ()
