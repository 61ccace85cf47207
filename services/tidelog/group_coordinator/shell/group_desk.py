"""Requests about groups: brought to the shards that hold the groups, and the answers put together again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tidelog.group_coordinator.core.groups.turn import Caller
from tidelog.group_coordinator.shell.unheard_of import UnheardOf
from tidelog.kafka.cluster import CONSUMER_OFFSETS
from tidelog.kafka.coordination.group_refusals import refused, while_loading
from tidelog.kafka.coordination.splitting import merge, split
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.list_groups import ListGroupsRequest
from tidelog.kafka.wire.messages.txn_offset_commit import TxnOffsetCommitRequest

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine, Mapping

    from tidelog.group_coordinator.shell.envelopes import Sender
    from tidelog.group_coordinator.shell.group_content import Answer
    from tidelog.group_coordinator.shell.shards import Shards
    from tidelog.group_coordinator.shell.verification import Verification
    from tidelog.kafka.wire.schema import Request, Response
    from tidelog.runtime.cluster_mirror import ClusterMirror


class GroupDesk:
    def __init__(
        self,
        shards: Shards,
        mirror: ClusterMirror,
        verification: Verification,
        is_in_doubt: Callable[[], bool],
        spawn: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[Any]],
        *,
        offsets_partitions: int,
    ) -> None:
        """`is_in_doubt` tells whether somebody else may own the shards by now."""
        self._shards = shards
        self._view = mirror.view
        self._unheard_of = UnheardOf(mirror, self.partition_exists, spawn)
        self._verification = verification
        self._is_in_doubt = is_in_doubt
        self._offsets_partitions = offsets_partitions

    def serve(self, request: Request[Any], sender: Sender, answer: Answer) -> None:
        """`answer` is called once, now or later."""
        if not self._unheard_of.keeps(request, partial(self._serve, request, sender, answer)):
            self._serve(request, sender, answer)

    def partition_exists(self, topic: str, partition: int) -> bool:
        known = self._view.topics.get(topic)
        return known is not None and partition in known.partitions

    def _serve(self, request: Request[Any], sender: Sender, answer: Answer) -> None:
        if self._is_in_doubt():
            answer(self._refused(request, sender.version, KafkaCode.COORDINATOR_NOT_AVAILABLE))
            return
        parts = self._parts(request, sender)
        if len(parts) == 1:
            ((shard, part),) = parts.items()
            self._ask(shard, part, sender, answer)
        else:
            self._ask_all(request, parts, sender, answer)

    def _parts(self, request: Request[Any], sender: Sender) -> Mapping[int, Request[Any]]:
        if isinstance(request, ListGroupsRequest):
            # Each broker lists the groups that it is the coordinator of to its clients, who ask all of them.
            here = self._shards.groups.items()
            return {index: request for index, shard in here if shard.log.leader == sender.broker_id}
        topic = self._view.topics.get(CONSUMER_OFFSETS)
        return split(request, sender.version, len(topic.partitions) if topic else self._offsets_partitions)

    def _ask_all(
        self, request: Request[Any], parts: Mapping[int, Request[Any]], sender: Sender, answer: Answer
    ) -> None:
        answers: list[Response] = []

        def collect(one: Response) -> None:
            answers.append(one)
            if len(answers) == len(parts):
                answer(merge(request, sender.version, answers))

        if not parts:
            answer(merge(request, sender.version, ()))
        for shard, part in parts.items():
            self._ask(shard, part, sender, collect)

    def _ask(self, index: int, request: Request[Any], sender: Sender, answer: Answer) -> None:
        if isinstance(request, TxnOffsetCommitRequest) and request.group_id and self._is_served(index):
            self._verification.of_offsets(request, index, partial(self._on_verified, index, request, sender, answer))
        else:
            self._pass_on(index, request, sender, answer)

    def _on_verified(
        self, index: int, request: TxnOffsetCommitRequest, sender: Sender, answer: Answer, code: KafkaCode
    ) -> None:
        if code is KafkaCode.NONE:
            self._pass_on(index, request, sender, answer)
        else:
            answer(self._refused(request, sender.version, code))

    def _pass_on(self, index: int, request: Request[Any], sender: Sender, answer: Answer) -> None:
        shard = self._shards.groups.get(index)
        if shard is None:
            answer(self._refused(request, sender.version, KafkaCode.NOT_COORDINATOR))
        elif shard.content is None:
            answer(while_loading(request, sender.version, self.partition_exists))
        else:
            shard.content.handle(request, Caller(answer, sender.version, sender.client_id or "", sender.client_host))

    def _is_served(self, index: int) -> bool:
        shard = self._shards.groups.get(index)
        return shard is not None and shard.content is not None

    def _refused(self, request: Request[Any], version: int, code: KafkaCode) -> Response:
        return refused(request, version, code, self.partition_exists)
