"""The shards that the controller has given to this process: taken over when it says so, and given up the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tidelog.kafka.cluster import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.kafka.types import PartitionIndex, TopicName, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tidelog.group_coordinator.shell.group_content import GroupContent
    from tidelog.group_coordinator.shell.shard import Content, Shard
    from tidelog.group_coordinator.shell.transaction_content import TransactionContent
    from tidelog.kafka.cluster import ClusterView, ShardOwner
    from tidelog.runtime.cluster_mirror import ClusterMirror

    OpenGroups = Callable[[TopicPartition, int], Shard[GroupContent]]
    OpenTransactions = Callable[[TopicPartition, int], Shard[TransactionContent]]


S = TypeVar("S", bound="Content")


class Shards:
    def __init__(
        self,
        coordinator_id: int,
        mirror: ClusterMirror,
        open_groups: OpenGroups,
        open_transactions: OpenTransactions,
    ) -> None:
        """Both open a shard, given its name and its epoch."""
        self.groups: dict[int, Shard[GroupContent]] = {}
        self.transactions: dict[int, Shard[TransactionContent]] = {}
        self._id = coordinator_id
        self._mirror = mirror
        self._open_groups = open_groups
        self._open_transactions = open_transactions
        self._topics: set[str] = set()

    async def follow(self, on_changed: Callable[[], None]) -> None:
        """Be where the controller wants this process to be, for as long as this runs."""
        while True:
            changed = self._mirror.next_change
            on_changed()
            self._adopt(self._mirror.view)
            await changed.wait()

    def close(self) -> None:
        for groups in self.groups.values():
            groups.give_up()
        for transactions in self.transactions.values():
            transactions.give_up()
        self.groups.clear()
        self.transactions.clear()

    def _adopt(self, view: ClusterView) -> None:
        self._hold(self.groups, CONSUMER_OFFSETS, view, self._open_groups)
        self._hold(self.transactions, TRANSACTION_STATE, view, self._open_transactions)
        self._note_topics(view)
        for shard in self.transactions.values():
            if shard.content is not None:
                shard.content.do_what_is_due()

    def _hold(
        self,
        held: dict[int, Shard[S]],
        topic: str,
        view: ClusterView,
        open_shard: Callable[[TopicPartition, int], Shard[S]],
    ) -> None:
        owned = {owner.partition: owner for owner in self._owned(topic, view)}
        for partition, shard in list(held.items()):
            if partition not in owned or owned[partition].epoch != shard.epoch:
                shard.give_up()
                del held[partition]
        for partition, owner in owned.items():
            if partition not in held:
                name = TopicPartition(TopicName(topic), PartitionIndex(partition))
                held[partition] = open_shard(name, owner.epoch)

    def _owned(self, topic: str, view: ClusterView) -> Iterator[ShardOwner]:
        return (owner for owner in view.shards.values() if owner.topic == topic and owner.coordinator == self._id)

    def _note_topics(self, view: ClusterView) -> None:
        """Groups forget what they committed for topics that are gone."""
        if not view.knows_topics:
            return
        deleted = self._topics - view.topics.keys()
        self._topics = set(view.topics)
        for shard in self.groups.values() if deleted else ():
            if shard.content is not None:
                shard.content.on_topics_deleted(deleted)
