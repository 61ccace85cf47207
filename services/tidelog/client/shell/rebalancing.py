"""What happens to a consumer's partitions around a round of its group: given up, started, told to the application."""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from tidelog.client.records import TopicPartition


class RebalanceListener:
    """Told between two polls which partitions come and go. Methods may be plain or `async`."""

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> Any:
        """These are read from now on; a `seek` here decides where from."""

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> Any:
        """These will be another member's; what is committed here is where that one goes on."""

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> Any:
        """These are another member's already, so a commit would come too late."""
        return self.on_partitions_revoked(partitions)


async def tell(callback: Callable[[list[TopicPartition]], Any], partitions: Iterable[TopicPartition]) -> None:
    """Call a listener's method with what there is to tell, and wait for it if it is a coroutine."""
    told = sorted(partitions)
    answer = callback(told)
    if inspect.isawaitable(answer):
        waiting: Awaitable[Any] = answer
        await waiting
