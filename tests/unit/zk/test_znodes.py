"""Znodes: the bytes that Kafka writes, and every version that it may have left behind."""

from uuid import UUID

import pytest

from tidelog.kafka.types import (
    BrokerId,
    ControllerEpoch,
    ControllerId,
    CoordinatorId,
    Endpoint,
    LeaderEpoch,
    PartitionIndex,
    ProducerId,
    TopicName,
    TopicPartition,
)
from tidelog.zk import znodes
from tidelog.zk.znodes import (
    AclChangeZnode,
    AclEntry,
    AclZnode,
    ActiveController,
    BrokerIdZnode,
    BrokerRegistration,
    ClusterIdZnode,
    ConfigChangeZnode,
    ConfigEntity,
    ConfigZnode,
    ControllerEpochZnode,
    ControllerZnode,
    FeatureLevels,
    FeatureZnode,
    IsrChangeZnode,
    LogDirEventZnode,
    MalformedZnode,
    PartitionState,
    PartitionStateZnode,
    PreferredElectionZnode,
    ProducerIdBlock,
    ProducerIdBlockZnode,
    ReassignPartitionsZnode,
    ReplicaAssignment,
    ResourcePattern,
    ShardAssignment,
    ShardZnode,
    TopicAssignment,
    TopicZnode,
)

T0 = TopicPartition(TopicName("t"), PartitionIndex(0))
ONE, TWO, THREE = BrokerId(1), BrokerId(2), BrokerId(3)


class TestBrokerId:
    registration = BrokerRegistration.of(
        [Endpoint("INTERNAL", "b", 9093), Endpoint("PLAINTEXT", "a", 9092), Endpoint("GRPC", "a", 9094)],
        {"INTERNAL": "SSL", "PLAINTEXT": "PLAINTEXT", "GRPC": "PLAINTEXT", "UNUSED": "SSL"},
        timestamp_ms=1_700_000_000_000,
    )
    data = (
        b'{"features":{},"listener_security_protocol_map":{"INTERNAL":"SSL","PLAINTEXT":"PLAINTEXT","GRPC":"PLAINTEXT"},'
        b'"endpoints":["INTERNAL://b:9093","PLAINTEXT://a:9092","GRPC://a:9094"],"jmx_port":-1,"port":9092,"host":"a",'
        b'"version":5,"timestamp":"1700000000000"}'
    )

    def test_written_as_version_5_with_the_first_plaintext_endpoint_in_front(self) -> None:
        assert BrokerIdZnode.encode(self.registration) == self.data
        assert BrokerIdZnode.decode(self.data) == self.registration
        assert BrokerIdZnode.path(ONE) == "/brokers/ids/1"

    def test_rack_only_if_there_is_one(self) -> None:
        racked = BrokerRegistration.of([Endpoint("P", "a", 1)], {"P": "SSL"}, timestamp_ms=1, rack="r")
        data = BrokerIdZnode.encode(racked)
        assert b'"rack":"r"' in data
        assert b'"port":-1,"host":null' in data
        assert BrokerIdZnode.decode(data) == racked

    def test_endpoint_by_listener(self) -> None:
        assert self.registration.endpoint("GRPC") == Endpoint("GRPC", "a", 9094)
        assert self.registration.endpoint("OTHER") is None

    @pytest.mark.parametrize(
        ("data", "endpoints", "protocols", "rack"),
        [
            (b'{"version":1,"host":"h","port":1,"jmx_port":-1,"timestamp":"5"}', "PLAINTEXT://h:1", "PLAINTEXT", None),
            (
                b'{"version":2,"host":"h","port":1,"jmx_port":-1,"timestamp":"5","endpoints":["SSL://h:2"]}',
                "SSL://h:2",
                "SSL",
                None,
            ),
            (
                b'{"version":3,"host":"h","port":1,"jmx_port":-1,"timestamp":"5","endpoints":["SSL://h:2"],"rack":"r"}',
                "SSL://h:2",
                "SSL",
                "r",
            ),
            (
                (
                    b'{"version":4,"host":null,"port":-1,"jmx_port":-1,"timestamp":"5","endpoints":["A://h:2"],'
                    b'"listener_security_protocol_map":{"A":"SASL_SSL"}}'
                ),
                "A://h:2",
                "SASL_SSL",
                None,
            ),
        ],
    )
    def test_older_versions(self, data: bytes, endpoints: str, protocols: str, rack: str | None) -> None:
        found = BrokerIdZnode.decode(data)
        endpoint = Endpoint.parse(endpoints)
        assert found.endpoints == (endpoint,)
        assert found.listener_security_protocol_map == {endpoint.listener: protocols}
        assert (found.timestamp_ms, found.rack, found.features) == (5, rack, {})

    def test_features_of_version_5(self) -> None:
        data = self.data.replace(b'"features":{}', b'"features":{"f":{"min_version":1,"max_version":2}}')
        assert BrokerIdZnode.decode(data).features == {"f": {"min_version": 1, "max_version": 2}}

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"{",
            b"[]",
            b"null",
            b'{"version":5}',
            b'{"version":5,"endpoints":"x"}',
            b'{"version":5,"endpoints":["no endpoint"]}',
            b'{"version":5,"endpoints":[1]}',
            b"\xff\xfe",
        ],
    )
    def test_malformed(self, data: bytes) -> None:
        with pytest.raises(MalformedZnode):
            BrokerIdZnode.decode(data)


def test_controller_versions() -> None:
    me = ActiveController(ControllerId(3), 17)
    assert ControllerZnode.encode(me) == b'{"version":2,"brokerid":3,"timestamp":"17","kraftControllerEpoch":-1}'
    assert ControllerZnode.decode(ControllerZnode.encode(me)) == me
    assert ControllerZnode.decode(b'{"version":1,"brokerid":3,"timestamp":"17"}') == me


def test_controller_epoch_is_plain_text() -> None:
    assert ControllerEpochZnode.encode(ControllerEpoch(12)) == b"12"
    assert ControllerEpochZnode.decode(b"12") == 12
    with pytest.raises(MalformedZnode):
        ControllerEpochZnode.decode(b"{}")


class TestTopic:
    topic_id = UUID("00112233-4455-6677-8899-aabbccddeeff")

    def test_version_3(self) -> None:
        assignment = TopicAssignment(
            self.topic_id,
            {
                PartitionIndex(1): ReplicaAssignment((ONE, TWO, THREE), (THREE,), (ONE,)),
                PartitionIndex(0): ReplicaAssignment((ONE,)),
            },
        )
        data = TopicZnode.encode(assignment)
        assert data == (
            b'{"removing_replicas":{"1":[1]},"partitions":{"0":[1],"1":[1,2,3]},"topic_id":"ABEiM0RVZneImaq7zN3u_w",'
            b'"adding_replicas":{"1":[3]},"version":3}'
        )
        assert TopicZnode.decode(data) == assignment

    def test_partitions_are_in_numeric_order(self) -> None:
        many = TopicAssignment(None, {PartitionIndex(index): ReplicaAssignment((ONE,)) for index in (10, 9, 2)})
        assert list(TopicZnode.decode(TopicZnode.encode(many)).partitions) == [2, 9, 10]

    def test_older_versions(self) -> None:
        expected = TopicAssignment(None, {PartitionIndex(0): ReplicaAssignment((ONE, TWO))})
        assert TopicZnode.decode(b'{"version":1,"partitions":{"0":[1,2]}}') == expected
        two = b'{"version":2,"partitions":{"0":[1,2]},"adding_replicas":{},"removing_replicas":{}}'
        assert TopicZnode.decode(two) == expected

    def test_malformed_partition_and_id(self) -> None:
        for data in (b'{"version":1,"partitions":{"x":[1]}}', b'{"version":3,"partitions":{},"topic_id":"short"}'):
            with pytest.raises(MalformedZnode):
                TopicZnode.decode(data)


def test_partition_state() -> None:
    state = PartitionState(ONE, LeaderEpoch(4), (ONE, TWO), ControllerEpoch(7))
    data = b'{"controller_epoch":7,"leader":1,"version":1,"leader_epoch":4,"isr":[1,2]}'
    assert PartitionStateZnode.encode(state) == data
    assert PartitionStateZnode.decode(data) == state
    assert PartitionStateZnode.path(T0) == "/brokers/topics/t/partitions/0/state"


def test_partition_state_while_recovering() -> None:
    state = PartitionState(ONE, LeaderEpoch(4), (ONE,), ControllerEpoch(7), recovering=True)
    data = PartitionStateZnode.encode(state)
    assert data.endswith(b',"leader_recovery_state":1}')
    assert PartitionStateZnode.decode(data) == state


def test_shard() -> None:
    assignment = ShardAssignment(CoordinatorId(2), 5, 57)
    data = b'{"version":1,"coordinator":2,"epoch":5,"coordinator_epoch":57}'
    assert ShardZnode.encode(assignment) == data
    assert ShardZnode.decode(data) == assignment
    offsets = TopicPartition(TopicName("__consumer_offsets"), PartitionIndex(49))
    assert ShardZnode.path(offsets) == "/coordinators/shards/__consumer_offsets/49"


class TestConfig:
    @pytest.mark.parametrize(
        ("entity", "path"),
        [
            (ConfigEntity.topic("t.x"), "topics/t.x"),
            (ConfigEntity.broker(3), "brokers/3"),
            (ConfigEntity.broker(None), "brokers/<default>"),
            (ConfigEntity((("users", "a b/ü*~+"),)), "users/a%20b%2F%C3%BC%2A~%2B"),
            (ConfigEntity((("users", None), ("clients", "c=1"))), "users/<default>/clients/c%3D1"),
            (ConfigEntity((("ips", "10.0.0.1"),)), "ips/10.0.0.1"),
        ],
    )
    def test_paths(self, entity: ConfigEntity, path: str) -> None:
        assert entity.entity_path == path
        assert ConfigEntity.parse(path) == entity
        assert ConfigZnode.path(entity) == f"/config/{path}"

    def test_data(self) -> None:
        data = '{"version":1,"config":{"a":"1","ü":"2"}}'.encode()
        assert ConfigZnode.encode({"a": "1", "ü": "2"}) == data
        assert ConfigZnode.decode(data) == {"a": "1", "ü": "2"}
        assert ConfigZnode.decode(b"") == {}

    def test_change_versions(self) -> None:
        topic = ConfigEntity.topic("t")
        assert ConfigChangeZnode.encode(topic) == b'{"version":2,"entity_path":"topics/t"}'
        assert ConfigChangeZnode.decode(b'{"version":2,"entity_path":"topics/t"}') == topic
        assert ConfigChangeZnode.decode(b'{"version":1,"entity_type":"topics","entity_name":"t"}') == topic
        assert ConfigChangeZnode.CREATE_PATH == "/config/changes/config_change_"

    @pytest.mark.parametrize("path", ["", "topics", "topics/", "users/u/clients"])
    def test_malformed_change(self, path: str) -> None:
        with pytest.raises(MalformedZnode):
            ConfigEntity.parse(path)


def test_cluster_id_has_a_version_in_quotes() -> None:
    assert ClusterIdZnode.encode("abc") == b'{"version":"1","id":"abc"}'
    assert ClusterIdZnode.decode(b'{"version":"1","id":"abc"}') == "abc"


def test_features() -> None:
    assert FeatureZnode.encode(FeatureLevels()) == b'{"features":{},"version":2,"status":1}'
    one = b'{"features":{"f":{"min_version_level":1,"max_version_level":2}},"version":1,"status":0}'
    levels = {"f": {"min_version_level": 1, "max_version_level": 2}}
    assert FeatureZnode.decode(one) == FeatureLevels(enabled=False, features=levels)


def test_producer_id_block() -> None:
    block = ProducerIdBlock(ONE, ProducerId(1000), ProducerId(1999))
    data = b'{"version":1,"broker":1,"block_start":"1000","block_end":"1999"}'
    assert ProducerIdBlockZnode.encode(block) == data
    assert ProducerIdBlockZnode.decode(data) == block
    assert ProducerIdBlockZnode.decode(b"") is None


def test_requests_to_the_controller() -> None:
    move = b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[1,2]}]}'
    assert ReassignPartitionsZnode.encode({T0: (ONE, TWO)}) == move
    assert ReassignPartitionsZnode.decode(move) == {T0: (ONE, TWO)}
    partitions = b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
    for znode in (PreferredElectionZnode, IsrChangeZnode):
        assert znode.encode([T0]) == partitions
        assert znode.decode(partitions) == (T0,)
    event = b'{"version":1,"broker":1,"event":1}'
    assert LogDirEventZnode.encode(ONE) == event
    assert LogDirEventZnode.decode(event) == ONE


def test_acls() -> None:
    entry = AclEntry("User:a", "Allow", "Read")
    data = b'{"version":1,"acls":[{"principal":"User:a","permissionType":"Allow","operation":"Read","host":"*"}]}'
    assert AclZnode.encode([entry]) == data
    assert AclZnode.decode(data) == (entry,)
    assert AclZnode.path(ResourcePattern("Topic", "t")) == "/kafka-acl/Topic/t"
    assert AclZnode.path(ResourcePattern("Group", "g", "PREFIXED")) == "/kafka-acl-extended/prefixed/Group/g"


def test_acl_changes() -> None:
    literal, prefixed = ResourcePattern("Topic", "a:b"), ResourcePattern("TOPIC", "t", "PREFIXED")
    assert AclChangeZnode.encode(literal) == b"Topic:a:b"
    assert AclChangeZnode.decode(b"Topic:a:b") == literal
    assert AclChangeZnode.decode(AclChangeZnode.encode(prefixed)) == prefixed
    assert AclChangeZnode.create_path("PREFIXED") == "/kafka-acl-extended-changes/acl_changes_"
    with pytest.raises(MalformedZnode):
        AclChangeZnode.decode(b"nothing")


def test_every_starting_process_creates_kafkas_nodes_and_ours() -> None:
    kafkas = {"/consumers", "/brokers/ids", "/brokers/topics", "/config/changes", "/admin/delete_topics"} | {
        "/brokers/seqid",
        "/isr_change_notification",
        "/latest_producer_id_block",
        "/log_dir_event_notification",
        *(f"/config/{kind}" for kind in ("topics", "clients", "users", "brokers", "ips")),
    }
    ours = {"/controllers/ids", "/coordinators/ids", "/coordinators/shards"}
    assert set(znodes.TOP_LEVEL_NODES) == kafkas | ours
