"""Changes of partitions' states in ZooKeeper: read, decide, write what was decided unless somebody wrote in between.

Leaders write their partitions' states too, to change the ISR. A write that finds another version than was read is decided
anew on what is there now, so neither side's change is lost.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tidelog.controller.core import store
from tidelog.controller.core.leadership import Leadership
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Refusal, Task, Written
from tidelog.kafka.types import TopicPartition

States = Mapping[TopicPartition, Leadership]
# The new states of those partitions that are to change.
Decide = Callable[[States], Task[States]]


@dataclass(slots=True)
class Changed:
    """What became of each partition; one that has no state, or lost it, is in neither."""

    written: dict[TopicPartition, Leadership] = field(default_factory=dict)
    unchanged: dict[TopicPartition, Leadership] = field(default_factory=dict)


def change_states(work: Work, partitions: Iterable[TopicPartition], decide: Decide) -> Task[Changed]:
    """Memory has the outcome, and so what may be told, before this returns."""
    changed, left = Changed(), set(partitions)
    while left:
        found = yield from store.read_states(work, left)
        wanted = yield from decide(found)
        outcomes = yield from store.write_states(work, wanted)
        for partition, outcome in outcomes.items():
            if isinstance(outcome, Written):
                changed.written[partition] = wanted[partition].written(work.controller_epoch, outcome.version)
        changed.unchanged.update((p, state) for p, state in found.items() if p not in wanted)
        left = {partition for partition, outcome in outcomes.items() if outcome is Refusal.BAD_VERSION}
    work.context.leaderships.update(changed.unchanged)
    work.context.leaderships.update(changed.written)
    return changed


def at_once(decide: Callable[[TopicPartition, Leadership], Leadership | None]) -> Decide:
    """A decision that needs no reading, for each partition by itself; None leaves it as it is."""

    def decide_all(found: States) -> Task[States]:
        yield from ()
        decided = {partition: decide(partition, state) for partition, state in found.items()}
        return {partition: state for partition, state in decided.items() if state is not None}

    return decide_all


def bump_epoch(work: Work, partition: TopicPartition) -> Task[bool]:
    """Raise the leader epoch and change nothing else, so that brokers take what follows for news. False if no state."""
    decide = at_once(lambda _, state: state.led_by(state.leader, state.isr))
    changed = yield from change_states(work, (partition,), decide)
    return partition in changed.written
