"""The admin client: each thing it administers, and refusals that name what was refused."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.async_waiting import eventually_true
from tidelog.client import (
    Admin,
    ConfigResource,
    Consumer,
    KafkaCode,
    KafkaError,
    NewTopic,
    Producer,
    TopicPartition,
    WrongArgumentError,
)

MakeTopic = Callable[..., str]


async def test_topics_and_partitions(bootstrap: str, name: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        await admin.create_topics([NewTopic(name, 2, 3, {"retention.ms": "12345"})], validate_only=True)
        assert name not in await admin.list_topics()
        await admin.create_topics([NewTopic(name, 2, 3), NewTopic(f"{name}-placed", replicas={0: [2, 3]})])
        assert {name, f"{name}-placed"} <= set(await admin.list_topics())
        described = await admin.describe_topics([name, f"{name}-placed"])
        assert len(described[name].partitions) == 2
        assert described[f"{name}-placed"].partitions[0].replicas == (2, 3)
        await admin.create_partitions(name, 3)
        await admin.create_partitions(f"{name}-placed", 2, replicas=[[1, 2]])
        assert len((await admin.describe_topics([name]))[name].partitions) == 3
        await admin.delete_topics([name, f"{name}-placed"])
        with pytest.raises(KafkaError, match=f"{name}: ") as caught:
            await admin.describe_topics([name])
        assert caught.value.code is KafkaCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_refusals_name_what_was_refused(bootstrap: str, topic: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        with pytest.raises(KafkaError, match=f"TOPIC_ALREADY_EXISTS.*{topic}: "):
            await admin.create_topics([topic])
        with pytest.raises(KafkaError, match=r"INVALID_REPLICATION_FACTOR.*new: "):
            await admin.create_topics([NewTopic("new", 1, 9)])
        with pytest.raises(KafkaError, match="INVALID_PARTITIONS"):
            await admin.create_partitions(topic, 1)
        with pytest.raises(KafkaError, match="INVALID_CONFIG"):
            await admin.alter_configs(ConfigResource.topic(topic), {"retention.ms": "long"})
        with pytest.raises(WrongArgumentError, match="both replicas and numbers"):
            await admin.create_topics([NewTopic("new", 1, replicas={0: [1]})])


async def test_the_cluster(bootstrap: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        described = await admin.describe_cluster()
        assert [broker.id for broker in described.brokers] == [1, 2, 3]
        assert described.cluster_id


async def test_configs_of_topics_and_brokers(bootstrap: str, topic: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        resource = ConfigResource.topic(topic)
        await admin.alter_configs(resource, {"retention.ms": 1000, "cleanup.policy": "delete"})
        await admin.alter_configs(resource, {"retention.ms": None}, append={"cleanup.policy": "compact"})
        found = await admin.describe_configs(resource)
        assert found["cleanup.policy"].value == "delete,compact"
        assert found["retention.ms"].value == "604800000"
        one = await admin.describe_configs(ConfigResource.broker(2), ["log.retention.ms", "broker.id"])
        assert one["broker.id"].value == "2"
        assert one["broker.id"].is_read_only
        await admin.alter_configs(ConfigResource.broker(2), {"log.cleaner.backoff.ms": 14_000})
        assert (await admin.describe_configs(ConfigResource.broker(2)))["log.cleaner.backoff.ms"].value == "14000"


async def test_groups_and_offsets(bootstrap: str, topic: str, name: str) -> None:
    partition = TopicPartition(topic, 0)
    async with Admin(bootstrap_servers=bootstrap) as admin:
        async with Consumer(bootstrap_servers=bootstrap, group_id=name, auto_offset_reset="earliest") as consumer:
            consumer.subscribe([topic])
            while not consumer.assignment():
                await consumer.poll(200)
            described = (await admin.describe_groups([name]))[name]
            assert (described.state, described.assignor) == ("Stable", "range")
            assert [member.partitions for member in described.members] == [(partition,)]
            with pytest.raises(KafkaError, match="NON_EMPTY_GROUP"):
                await admin.delete_groups([name])
        assert (await admin.describe_groups([name]))[name].state == "Empty"
        assert name in [each.group_id for each in await admin.list_groups(states=["Empty"])]
        await admin.alter_group_offsets(name, {partition: 7})
        assert (await admin.list_group_offsets(name))[partition].offset == 7
        await admin.delete_group_offsets(name, [partition])
        assert await admin.list_group_offsets(name, [partition]) == {}
        await admin.delete_groups([name])
        assert (await admin.describe_groups([name]))[name].state == "Dead"


async def test_members_can_be_removed(bootstrap: str, topic: str, name: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        async with Consumer(bootstrap_servers=bootstrap, group_id=name, group_instance_id="i") as consumer:
            consumer.subscribe([topic])
            while not consumer.assignment():
                await consumer.poll(200)
        assert len((await admin.describe_groups([name]))[name].members) == 1, "a static member does not leave"
        await admin.remove_members(name, instance_ids=["i"])
        assert (await admin.describe_groups([name]))[name].state == "Empty"


async def test_offsets_and_records_of_partitions(bootstrap: str, topic: str) -> None:
    partition = TopicPartition(topic, 0)
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for number in range(10):
            await producer.send(topic, b"v", timestamp=1000 + number)
    async with Admin(bootstrap_servers=bootstrap) as admin:
        assert (await admin.list_offsets({partition: "latest"}))[partition].offset == 10
        assert (await admin.list_offsets({partition: 1004}))[partition].offset == 4
        assert await admin.delete_records({partition: 6}) == {partition: 6}
        assert (await admin.list_offsets({partition: "earliest"}))[partition].offset == 6
        producers = (await admin.describe_producers([partition]))[partition]
        assert [each.last_sequence for each in producers] == [9]


async def test_reassignments_elections_and_log_dirs(bootstrap: str, name: str) -> None:
    partition = TopicPartition(name, 0)
    async with Admin(bootstrap_servers=bootstrap) as admin:
        await admin.create_topics([NewTopic(name, replicas={0: [1, 2]})])
        await admin.alter_reassignments({partition: [3, 2]})

        async def replicas() -> tuple[int, ...]:
            return (await admin.describe_topics([name]))[name].partitions[0].replicas

        while partition in await admin.list_reassignments([partition]) or await replicas() != (3, 2):
            pass
        elected = await admin.elect_leaders([partition])
        assert elected in ([], [partition])
        assert (await admin.describe_topics([name]))[name].partitions[0].leader == 3
        dirs = await admin.describe_log_dirs([3], [partition])
        assert [partition in each.replicas for each in dirs[3]] == [True]
        with pytest.raises(KafkaError, match=f"NO_REASSIGNMENT_IN_PROGRESS.*{partition}: "):
            await admin.alter_reassignments({partition: None})
        with pytest.raises(KafkaError, match="LOG_DIR_NOT_FOUND"):
            await admin.alter_replica_log_dirs(3, {partition: "/nowhere"})


async def test_transactions(bootstrap: str, topic: str, name: str) -> None:
    partition = TopicPartition(topic, 0)
    async with (
        Admin(bootstrap_servers=bootstrap) as admin,
        Producer(bootstrap_servers=bootstrap, transactional_id=name) as producer,
    ):
        await producer.begin_transaction()
        await producer.send(topic, b"v")
        assert name in [each.transactional_id for each in await admin.list_transactions(states=["Ongoing"])]
        described = (await admin.describe_transactions([name]))[name]
        assert (described.state, described.partitions) == ("Ongoing", (partition,))
        (active,) = (await admin.describe_producers([partition]))[partition]
        assert active.transaction_start_offset == 0
        await producer.commit_transaction()

        states: list[str] = []

        async def look() -> None:
            states.append((await admin.describe_transactions([name]))[name].state)

        while states[-1:] != ["CompleteCommit"]:
            await look()
        await eventually_true(lambda: states[-1] == "CompleteCommit")


async def test_quotas(bootstrap: str, name: str) -> None:
    async with Admin(bootstrap_servers=bootstrap) as admin:
        await admin.alter_quotas({"client-id": name}, {"producer_byte_rate": 1000.0, "consumer_byte_rate": 2000.0})
        await admin.alter_quotas({"client-id": name}, {"consumer_byte_rate": None})
        found: dict[Any, dict[str, float]] = {}
        while found != {(("client-id", name),): {"producer_byte_rate": 1000.0}}:
            found = {**await admin.describe_quotas({"client-id": name})}
        with pytest.raises(KafkaError, match=f"client-id {name}: "):
            await admin.alter_quotas({"client-id": name}, {"speed": 1.0})
