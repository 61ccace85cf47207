"""Committed offsets of a group: written and read."""

from collections.abc import Iterable, Mapping

from tidelog.client.configs.consumer import ConsumerConfig
from tidelog.client.core.membership import Membership
from tidelog.client.errors import CommitFailedError
from tidelog.client.records import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from tidelog.client.shell.coordinators import Coordinator
from tidelog.client.shell.group_calls import commit_request, committed_request
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.offset_commit import OffsetCommitResponse
from tidelog.kafka.wire.messages.offset_fetch import OffsetFetchResponse

# From version 8 on a request is about several groups.
_ONE_GROUP_VERSION = 7
_MOVED_ON = frozenset({KafkaCode.ILLEGAL_GENERATION, KafkaCode.UNKNOWN_MEMBER_ID, KafkaCode.FENCED_INSTANCE_ID})


class GroupOffsets:
    """The offsets of one group as one consumer commits and reads them."""

    def __init__(self, config: ConsumerConfig, coordinator: Coordinator) -> None:
        self._config = config
        self._coordinator = coordinator

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        who: ConsumerGroupMetadata,
        member: Membership | None,
        timeout_ms: int,
    ) -> None:
        """Commit, as the member of a generation or as nobody in particular. CommitFailedError if the group moved on."""
        if not offsets:
            return
        if member is not None and not member.is_member:
            raise CommitFailedError(KafkaCode.UNKNOWN_MEMBER_ID)
        try:
            await self._coordinator.call(
                lambda: commit_request(who, offsets),
                _worst_of_commit,
                timeout_ms=timeout_ms,
            )
        except KafkaError as error:
            if member is not None and who == member.metadata():
                member.on_refusal(error.code)
            if error.code in _MOVED_ON:
                raise CommitFailedError(error.code) from error
            raise

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: int
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """What the group has committed; partitions without a commit are left out."""
        assert self._config.group_id is not None, "offsets belong to a group"
        request = committed_request(self._config.group_id, partitions, require_stable=True)
        answer = await self._coordinator.call(
            lambda: request, _worst_of_fetch, timeout_ms=timeout_ms, at_most=_ONE_GROUP_VERSION
        )
        return {
            TopicPartition(topic.name, each.partition_index): OffsetAndMetadata(
                each.committed_offset, each.metadata or "", each.committed_leader_epoch
            )
            for topic in answer.topics
            for each in topic.partitions
            if each.committed_offset >= 0
        }


def _worst_of_commit(answer: OffsetCommitResponse) -> int:
    codes = [each.error_code for topic in answer.topics for each in topic.partitions if each.error_code]
    return codes[0] if codes else 0


def _worst_of_fetch(answer: OffsetFetchResponse) -> int:
    codes = [each.error_code for topic in answer.topics for each in topic.partitions if each.error_code]
    return answer.error_code or (codes[0] if codes else 0)
