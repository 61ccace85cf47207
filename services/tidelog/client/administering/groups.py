"""Consumer groups and their offsets."""

import asyncio
from collections.abc import Iterable, Mapping

from tidelog.client.administering.asking import AdminClient, by_topic, raise_first
from tidelog.client.administering.values import GroupDescription, GroupListing, MemberDescription
from tidelog.client.core.cluster import Node
from tidelog.client.core.consumer_protocol import PROTOCOL_TYPE, read_assignment
from tidelog.client.records import ConsumerGroupMetadata, OffsetAndMetadata, OffsetAndTimestamp, TopicPartition
from tidelog.client.shell.coordinators import Coordinator, KeyType
from tidelog.client.shell.group_calls import commit_request
from tidelog.client.shell.offset_lookup import look_up_offsets
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.messages.delete_groups import DeleteGroupsRequest
from tidelog.kafka.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest
from tidelog.kafka.wire.messages.leave_group import LeaveGroupRequest, LeavingMember
from tidelog.kafka.wire.messages.list_groups import ListGroupsRequest
from tidelog.kafka.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.kafka.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

_ONE_GROUP_VERSION = 7


class GroupAdmin(AdminClient):
    """Looks into groups, and changes where they are."""

    async def list_groups(self, *, states: Iterable[str] = (), timeout_ms: int | None = None) -> list[GroupListing]:
        """All groups that some broker answers for; `states` such as "Stable" or "Empty" pick some of them."""
        wanted = list(states)
        request = ListGroupsRequest(states_filter=wanted)
        answers = await asyncio.gather(
            *(
                self._ask_broker(broker_id, request, timeout_ms, lambda answer: answer.error_code)
                for broker_id in self.metadata.view.nodes
            )
        )
        found = {
            each.group_id: GroupListing(each.group_id, each.protocol_type, each.group_state)
            for answer in answers
            for each in answer.groups
        }
        return [found[group_id] for group_id in sorted(found) if not wanted or found[group_id].state in wanted]

    async def describe_groups(
        self, group_ids: Iterable[str], *, timeout_ms: int | None = None
    ) -> dict[str, GroupDescription]:
        """Members and what each of them reads. A group that there is not is described as Dead."""
        found = {}
        for group_id in group_ids:
            answer = await self._ask_coordinator(
                group_id,
                DescribeGroupsRequest(groups=[group_id]),
                lambda answer: answer.groups[0].error_code,
                timeout_ms,
            )
            found[group_id] = _description(answer.groups[0])
        return found

    async def group_coordinator(self, group_id: str, *, timeout_ms: int | None = None) -> Node:
        """The broker that answers for a group."""
        coordinator = Coordinator(self, group_id, KeyType.GROUP)

        async def attempt() -> Node:
            return self.metadata.view.nodes[await coordinator.node_id()]

        return await self.insist(attempt, self._time_ms(timeout_ms))

    async def delete_groups(self, group_ids: Iterable[str], *, timeout_ms: int | None = None) -> None:
        """Delete groups without members, with their offsets."""
        for group_id in group_ids:
            await self._ask_coordinator(
                group_id,
                DeleteGroupsRequest(groups_names=[group_id]),
                lambda answer: answer.results[0].error_code,
                timeout_ms,
            )

    async def remove_members(
        self,
        group_id: str,
        *,
        member_ids: Iterable[str] = (),
        instance_ids: Iterable[str] = (),
        timeout_ms: int | None = None,
    ) -> None:
        """Make members leave their group, dynamic ones by member id, static ones by instance id."""
        leaving = [
            *(LeavingMember(member_id=each) for each in member_ids),
            *(LeavingMember(group_instance_id=each) for each in instance_ids),
        ]
        answer = await self._ask_coordinator(
            group_id,
            LeaveGroupRequest(group_id=group_id, members=leaving),
            lambda answer: answer.error_code,
            timeout_ms,
        )
        raise_first((each.group_instance_id or each.member_id, each.error_code, None) for each in answer.members)

    # ---- offsets

    async def list_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None = None, *, timeout_ms: int | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a group has committed, for all partitions or for those named."""
        topics = None
        if partitions is not None:
            topics = [
                OffsetFetchRequestTopic(name=name, partition_indexes=numbers)
                for name, numbers in by_topic(partitions).items()
            ]
        answer = await self._ask_coordinator(
            group_id,
            OffsetFetchRequest(group_id=group_id, topics=topics),
            lambda answer: answer.error_code,
            timeout_ms,
            at_most=_ONE_GROUP_VERSION,
        )
        raise_first(
            (f"{topic.name}-{each.partition_index}", each.error_code, None)
            for topic in answer.topics
            for each in topic.partitions
        )
        return {
            TopicPartition(topic.name, each.partition_index): OffsetAndMetadata(
                each.committed_offset, each.metadata or "", each.committed_leader_epoch
            )
            for topic in answer.topics
            for each in topic.partitions
            if each.committed_offset >= 0
        }

    async def alter_group_offsets(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
        *,
        timeout_ms: int | None = None,
    ) -> None:
        """Set what a group without members has committed."""
        wanted = {
            TopicPartition(*each): OffsetAndMetadata(offset) if isinstance(offset, int) else offset
            for each, offset in offsets.items()
        }
        await self._ask_coordinator(
            group_id,
            commit_request(ConsumerGroupMetadata(group_id), wanted),
            lambda answer: next((p.error_code for t in answer.topics for p in t.partitions if p.error_code), 0),
            timeout_ms,
        )

    async def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, timeout_ms: int | None = None
    ) -> None:
        """Forget what a group has committed; not for topics that it is subscribed to."""
        request = OffsetDeleteRequest(
            group_id=group_id,
            topics=[
                OffsetDeleteRequestTopic(
                    name=name, partitions=[OffsetDeleteRequestPartition(partition_index=number) for number in numbers]
                )
                for name, numbers in by_topic(partitions).items()
            ],
        )
        answer = await self._ask_coordinator(group_id, request, lambda answer: answer.error_code, timeout_ms)
        raise_first(
            (f"{topic.name}-{each.partition_index}", each.error_code, None)
            for topic in answer.topics
            for each in topic.partitions
        )

    async def list_offsets(
        self,
        partitions: Mapping[TopicPartition, int | str],
        *,
        read_committed: bool = False,
        timeout_ms: int | None = None,
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """Offsets of partitions at a time in milliseconds, or at "earliest" or "latest"."""
        named = {"earliest": -2, "latest": -1}
        wanted: dict[TopicPartition, int] = {}
        for each, when in partitions.items():
            if isinstance(when, str) and when not in named:
                raise KafkaError(KafkaCode.INVALID_REQUEST, f"partitions: {when!r} is not a time, earliest or latest")
            wanted[TopicPartition(*each)] = named[when] if isinstance(when, str) else when
        return await look_up_offsets(
            self, wanted, isolation_level=int(read_committed), timeout_ms=self._time_ms(timeout_ms)
        )


def _description(told: DescribedGroup) -> GroupDescription:
    reads = told.protocol_type == PROTOCOL_TYPE
    members = tuple(
        MemberDescription(
            each.member_id,
            each.group_instance_id,
            each.client_id,
            each.client_host,
            tuple(sorted(read_assignment(each.member_assignment))) if reads else (),
        )
        for each in told.members
    )
    return GroupDescription(told.group_id, told.group_state, told.protocol_type, told.protocol_data, members)
