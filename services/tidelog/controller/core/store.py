"""Topics and partitions in ZooKeeper: between the controller's values and znodes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidelog.controller.core import zk_requests as zk
from tidelog.controller.core.assignment import Assignment
from tidelog.controller.core.effects import What
from tidelog.controller.core.leadership import Leadership
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Outcome, Refusal, Task, Written
from tidelog.kafka.types import (
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    PartitionIndex,
    TopicId,
    TopicName,
    TopicPartition,
)
from tidelog.zk.operations import Create, SetData
from tidelog.zk.znodes import (
    TOPICS,
    ConfigEntity,
    ConfigZnode,
    DeleteTopicZnode,
    MalformedZnode,
    PartitionState,
    PartitionStateZnode,
    ReplicaAssignment,
    TopicAssignment,
    TopicPartitionsZnode,
    TopicPartitionZnode,
    TopicZnode,
)


@dataclass(frozen=True, slots=True)
class StoredTopic:
    """A topic as its znode says; topics older than Kafka 2.8 have no id."""

    topic_id: TopicId | None
    partitions: Mapping[PartitionIndex, Assignment]


def read_topic_names() -> Task[set[TopicName]]:
    names = yield from zk.children(TOPICS)
    return {TopicName(name) for name in names}


def read_topics(work: Work, topics: Iterable[TopicName]) -> Task[dict[TopicName, StoredTopic]]:
    """Those that exist and can be read."""
    topics = sorted(topics)
    found = yield from zk.read(map(TopicZnode.path, topics))
    stored = {}
    for topic, node in zip(topics, found, strict=True):
        try:
            if node is not None:
                stored[topic] = _stored(TopicZnode.decode(node.data))
        except MalformedZnode as error:
            work.note(What.MALFORMED_ZNODE, topic, str(error))
    return stored


def create_topics(
    topics: Mapping[TopicName, StoredTopic], configs: Mapping[TopicName, Mapping[str, str]]
) -> Task[set[TopicName]]:
    """Configurations first, so that whoever sees a topic sees that too. Gives those that did not exist."""
    config_data = {ConfigZnode.path(ConfigEntity.topic(topic)): ConfigZnode.encode(configs[topic]) for topic in topics}
    outcomes = yield from zk.write(Create(path, data) for path, data in config_data.items())
    left_over = [path for path, made in zip(config_data, outcomes, strict=True) if made is Refusal.NODE_EXISTS]
    yield from zk.write(SetData(path, config_data[path]) for path in left_over)
    outcomes = yield from zk.write(Create(TopicZnode.path(topic), _encoded(each)) for topic, each in topics.items())
    return {topic for topic, made in zip(topics, outcomes, strict=True) if isinstance(made, Written)}


def write_topics(topics: Mapping[TopicName, StoredTopic]) -> Task[None]:
    """Topics that have gone meanwhile are left alone."""
    yield from zk.write(SetData(TopicZnode.path(topic), _encoded(stored)) for topic, stored in sorted(topics.items()))


def delete_topics(topics: Iterable[TopicName]) -> Task[None]:
    """The topic, then its configuration, and the wish to delete it last: whatever is interrupted is resumed."""
    for topic in topics:
        config_path = ConfigZnode.path(ConfigEntity.topic(topic))
        yield from zk.delete_trees([TopicZnode.path(topic), config_path, DeleteTopicZnode.path(topic)])


def read_states(work: Work, partitions: Iterable[TopicPartition]) -> Task[dict[TopicPartition, Leadership]]:
    """Those that have a state. Raises EpochIsOver if a later controller wrote one of them."""
    partitions = sorted(partitions)
    found = yield from zk.read(map(PartitionStateZnode.path, partitions))
    states = {}
    for partition, node in zip(partitions, found, strict=True):
        try:
            if node is not None:
                states[partition] = _leadership(PartitionStateZnode.decode(node.data), node.version)
        except MalformedZnode as error:
            work.note(What.MALFORMED_ZNODE, partition, str(error))
    work.check_epochs(states.values())
    return states


def create_states(work: Work, states: Mapping[TopicPartition, Leadership]) -> Task[dict[TopicPartition, Leadership]]:
    """The first state of new partitions, and the nodes above; gives those that were created."""
    # One creation that fails takes those packed with it, so none is tried that is known to be there.
    known = {partition.topic for partition in work.context.leaderships}
    parents = [Create(TopicPartitionsZnode.path(topic)) for topic in sorted({p.topic for p in states} - known)]
    ops = [op for partition, state in states.items() for op in _state_creation(work, partition, state)]
    outcomes = yield from zk.write([*parents, *ops])
    made = outcomes[len(parents) + 1 :: 2]
    return {
        partition: state.written(work.controller_epoch, 0)
        for (partition, state), outcome in zip(states.items(), made, strict=True)
        if isinstance(outcome, Written)
    }


def write_states(work: Work, states: Mapping[TopicPartition, Leadership]) -> Task[dict[TopicPartition, Outcome]]:
    """Each only if its znode still has the version that the state was made from."""
    outcomes = yield from zk.write(
        SetData(PartitionStateZnode.path(partition), _encoded_state(work, state), state.partition_epoch)
        for partition, state in states.items()
    )
    return dict(zip(states, outcomes, strict=True))


def read_topic_configs(topics: Iterable[TopicName]) -> Task[dict[TopicName, dict[str, str]]]:
    """The overrides of these topics; what cannot be read counts as none."""
    topics = sorted(topics)
    found = yield from zk.read(ConfigZnode.path(ConfigEntity.topic(topic)) for topic in topics)
    return {topic: _config(node) for topic, node in zip(topics, found, strict=True)}


def read_cluster_config() -> Task[dict[str, str]]:
    """The dynamic configuration that all brokers share."""
    node = yield from zk.read_one(ConfigZnode.path(ConfigEntity.broker(None)))
    return _config(node)


def _config(node: zk.Found | None) -> dict[str, str]:
    try:
        return {} if node is None else ConfigZnode.decode(node.data)
    except MalformedZnode:
        return {}


def _stored(assignment: TopicAssignment) -> StoredTopic:
    partitions = {
        index: Assignment(one.replicas, one.adding, one.removing) for index, one in assignment.partitions.items()
    }
    return StoredTopic(assignment.topic_id, partitions)


def _encoded(stored: StoredTopic) -> bytes:
    partitions = {
        index: ReplicaAssignment(_ids(one.replicas), _ids(one.adding), _ids(one.removing))
        for index, one in stored.partitions.items()
    }
    return TopicZnode.encode(TopicAssignment(stored.topic_id, partitions))


def _leadership(state: PartitionState, version: int) -> Leadership:
    return Leadership(state.leader, state.isr, state.leader_epoch, state.controller_epoch, version, state.recovering)


def _encoded_state(work: Work, state: Leadership) -> bytes:
    return PartitionStateZnode.encode(
        PartitionState(
            BrokerId(state.leader),
            LeaderEpoch(state.leader_epoch),
            _ids(state.isr),
            ControllerEpoch(work.controller_epoch),
            state.recovering,
        )
    )


def _state_creation(work: Work, partition: TopicPartition, state: Leadership) -> tuple[Create, Create]:
    node = Create(TopicPartitionZnode.path(partition))
    return node, Create(PartitionStateZnode.path(partition), _encoded_state(work, state))


def _ids(ids: Iterable[int]) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, ids))
