"""Where partitions are, who leads them, and what is kept of them."""

from collections.abc import Iterable, Mapping, Sequence

from tidelog.client.administering.asking import AdminClient, by_topic, raise_first
from tidelog.client.administering.values import ActiveProducer, ElectionType, LogDir, Reassignment, ReplicaInLogDir
from tidelog.client.records import TopicPartition
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from tidelog.kafka.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tidelog.kafka.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tidelog.kafka.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResult,
)
from tidelog.kafka.wire.messages.describe_producers import DescribeProducersRequest, DescribeProducersTopic
from tidelog.kafka.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, ElectLeadersTopic
from tidelog.kafka.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopic,
)


class PartitionAdmin(AdminClient):
    """Moves replicas and leaders, deletes records, looks into log directories."""

    # ---- reassignments

    async def alter_reassignments(
        self, replicas: Mapping[TopicPartition, Sequence[int] | None], *, timeout_ms: int | None = None
    ) -> None:
        """Move partitions to these brokers, the first of which is to lead; None calls a move off."""
        topics: dict[str, list[ReassignablePartition]] = {}
        for (topic, partition), brokers in replicas.items():
            wanted = None if brokers is None else list(brokers)
            topics.setdefault(topic, []).append(ReassignablePartition(partition_index=partition, replicas=wanted))
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=self._time_ms(timeout_ms),
            topics=[ReassignableTopic(name=name, partitions=parts) for name, parts in topics.items()],
        )
        await self._ask_controller(request, timeout_ms, _reassignment_outcomes)

    async def list_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, *, timeout_ms: int | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """The moves that are under way."""
        topics = None
        if partitions is not None:
            topics = [
                ListPartitionReassignmentsTopic(name=name, partition_indexes=numbers)
                for name, numbers in by_topic(partitions).items()
            ]
        request = ListPartitionReassignmentsRequest(timeout_ms=self._time_ms(timeout_ms), topics=topics)
        answer = await self._ask_controller(
            request, timeout_ms, lambda answer: [("reassignments", answer.error_code, answer.error_message)]
        )
        return {
            TopicPartition(topic.name, each.partition_index): Reassignment(
                tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas)
            )
            for topic in answer.topics
            for each in topic.partitions
        }

    # ---- elections

    async def elect_leaders(
        self,
        partitions: Iterable[TopicPartition] | None = None,
        *,
        election: ElectionType = ElectionType.PREFERRED,
        timeout_ms: int | None = None,
    ) -> list[TopicPartition]:
        """Have leaders elected, of all partitions if none is named; gives those that have a new one."""
        asked = None
        if partitions is not None:
            asked = [
                ElectLeadersTopic(topic=name, partitions=numbers) for name, numbers in by_topic(partitions).items()
            ]
        request = ElectLeadersRequest(
            election_type=election, topic_partitions=asked, timeout_ms=self._time_ms(timeout_ms)
        )
        answer = await self._ask_controller(request, timeout_ms, _election_outcomes)
        return [
            TopicPartition(topic.topic, each.partition_id)
            for topic in answer.replica_election_results
            for each in topic.partition_result
            if not each.error_code
        ]

    # ---- records

    async def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout_ms: int | None = None
    ) -> dict[TopicPartition, int]:
        """Delete the records before an offset (-1 is the end); gives the first offset that is left."""
        found: dict[TopicPartition, int] = {}
        leaders = await self._leaders_of(before, timeout_ms)
        for leader, partitions in leaders.items():
            topics: dict[str, list[DeleteRecordsPartition]] = {}
            for each in partitions:
                wanted = DeleteRecordsPartition(partition_index=each.partition, offset=before[each])
                topics.setdefault(each.topic, []).append(wanted)
            request = DeleteRecordsRequest(
                topics=[DeleteRecordsTopic(name=name, partitions=parts) for name, parts in topics.items()],
                timeout_ms=self._time_ms(timeout_ms),
            )
            answer = await self._ask_broker(leader, request, timeout_ms)
            told = [(topic.name, each) for topic in answer.topics for each in topic.partitions]
            raise_first((f"{name}-{each.partition_index}", each.error_code, None) for name, each in told)
            found |= {TopicPartition(name, each.partition_index): each.low_watermark for name, each in told}
        return found

    async def describe_producers(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: int | None = None
    ) -> dict[TopicPartition, list[ActiveProducer]]:
        """The producers that partitions remember, for finding transactions that hang."""
        found: dict[TopicPartition, list[ActiveProducer]] = {}
        leaders = await self._leaders_of(partitions, timeout_ms)
        for leader, led in leaders.items():
            topics = [DescribeProducersTopic(name=name, partition_indexes=part) for name, part in by_topic(led).items()]
            answer = await self._ask_broker(leader, DescribeProducersRequest(topics=topics), timeout_ms)
            told = [(topic.name, each) for topic in answer.topics for each in topic.partitions]
            raise_first((f"{name}-{each.partition_index}", each.error_code, each.error_message) for name, each in told)
            for name, each in told:
                found[TopicPartition(name, each.partition_index)] = [
                    ActiveProducer(
                        one.producer_id,
                        one.producer_epoch,
                        one.last_sequence,
                        one.last_timestamp,
                        one.coordinator_epoch,
                        one.current_txn_start_offset,
                    )
                    for one in each.active_producers
                ]
        return found

    # ---- log directories

    async def describe_log_dirs(
        self,
        broker_ids: Iterable[int],
        partitions: Iterable[TopicPartition] | None = None,
        *,
        timeout_ms: int | None = None,
    ) -> dict[int, list[LogDir]]:
        """The log directories of brokers, with the replicas in them and their sizes."""
        topics = None
        if partitions is not None:
            named = by_topic(partitions)
            topics = [DescribableLogDirTopic(topic=name, partitions=numbers) for name, numbers in named.items()]
        found = {}
        for broker_id in broker_ids:
            answer = await self._ask_broker(broker_id, DescribeLogDirsRequest(topics=topics), timeout_ms)
            raise_first((each.log_dir, each.error_code, None) for each in answer.results)
            found[broker_id] = [_log_dir(each) for each in answer.results]
        return found

    async def alter_replica_log_dirs(
        self, broker_id: int, paths: Mapping[TopicPartition, str], *, timeout_ms: int | None = None
    ) -> None:
        """Move replicas of one broker to other log directories of it."""
        by_path: dict[str, list[TopicPartition]] = {}
        for partition, path in paths.items():
            by_path.setdefault(path, []).append(partition)
        dirs = [
            AlterReplicaLogDir(
                path=path,
                topics=[
                    AlterReplicaLogDirTopic(name=name, partitions=numbers) for name, numbers in by_topic(parts).items()
                ],
            )
            for path, parts in by_path.items()
        ]
        answer = await self._ask_broker(broker_id, AlterReplicaLogDirsRequest(dirs=dirs), timeout_ms)
        raise_first(
            (f"{topic.topic_name}-{each.partition_index}", each.error_code, None)
            for topic in answer.results
            for each in topic.partitions
        )


def _reassignment_outcomes(answer: AlterPartitionReassignmentsResponse) -> list[tuple[str, int, str | None]]:
    return [
        ("reassignments", answer.error_code, answer.error_message),
        *(
            (f"{topic.name}-{each.partition_index}", each.error_code, each.error_message)
            for topic in answer.responses
            for each in topic.partitions
        ),
    ]


def _election_outcomes(answer: ElectLeadersResponse) -> list[tuple[str, int, str | None]]:
    """A partition that is led by the right replica already is no refusal."""
    return [
        ("elections", answer.error_code, None),
        *(
            (f"{topic.topic}-{each.partition_id}", each.error_code, each.error_message)
            for topic in answer.replica_election_results
            for each in topic.partition_result
            if each.error_code != KafkaCode.ELECTION_NOT_NEEDED
        ),
    ]


def _log_dir(told: DescribeLogDirsResult) -> LogDir:
    replicas = {
        TopicPartition(topic.name, each.partition_index): ReplicaInLogDir(
            each.partition_size, each.offset_lag, each.is_future_key
        )
        for topic in told.topics
        for each in topic.partitions
    }
    return LogDir(told.log_dir, replicas, told.total_bytes, told.usable_bytes)
