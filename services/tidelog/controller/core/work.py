"""What every handler works with: the memory, the requests being gathered, and what is to be done."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from tidelog.controller.core.context import Context
from tidelog.controller.core.effects import Effect, Note, What
from tidelog.controller.core.leadership import Leadership
from tidelog.controller.core.request_batch import RequestBatch
from tidelog.kafka.cluster import MetadataUpdate


class EpochIsOver(Exception):  # noqa: N818 - says what is the matter
    """ZooKeeper holds the trace of a later controller: this one must resign."""


class Randomness(Protocol):
    """What is left to chance; `random.Random` is one."""

    def randrange(self, stop: int, /) -> int: ...

    def getrandbits(self, count: int, /) -> int: ...


@dataclass(frozen=True, slots=True)
class Settings:
    """What the controller's decisions depend on, under Kafka's names."""

    num_partitions: int = 1
    default_replication_factor: int = 1
    delete_topic_enable: bool = True
    unclean_leader_election_enable: bool = False
    leader_imbalance_per_broker_percentage: int = 10


class Work:
    """One controller epoch's desk. Effects pile up in `outbox` in the order in which they are to be executed."""

    def __init__(
        self,
        controller_epoch: int,
        settings: Settings,
        randomness: Randomness,
        base_update: Callable[[], MetadataUpdate],
    ) -> None:
        self.controller_epoch = controller_epoch
        self.settings = settings
        self.randomness = randomness
        self.context = Context()
        self.batch = RequestBatch(self.context, base_update)
        self.base_update = base_update
        self.outbox: list[Effect] = []

    def send(self) -> None:
        """Send the batch gathered so far."""
        self.outbox += self.batch.take()

    def note(self, what: What, subject: object, why: str = "", cause: str = "") -> None:
        self.outbox.append(Note(what, str(subject), why, cause))

    def check_epochs(self, read: Iterable[Leadership]) -> None:
        """A state written by a later controller means that this one is deposed, whatever it has heard."""
        newest = max((leadership.controller_epoch for leadership in read), default=0)
        if newest > self.controller_epoch:
            raise EpochIsOver(f"a partition's state was written in controller epoch {newest}")

    def new_topic_id(self) -> UUID:
        return UUID(int=self.randomness.getrandbits(128), version=4)
