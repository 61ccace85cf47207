"""What groups look like from outside: metrics, gRPC and the REST API tell the same of a consumer that lags behind."""

from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families

from tests.support.coordinated import HEARTBEAT, TRY_AGAIN, Coordinated, Member
from tests.support.kafka_calls import call
from tests.support.services import Service, Services, get_json, get_text
from tests.support.waiting import WAIT_S, eventually
from tidelog.kafka.errors import KafkaCode
from tidelog.rpc import group_coordinator_pb2, group_coordinator_pb2_grpc, metadata_pb2, metadata_pb2_grpc

WRITTEN, READ = 30, 12
PARTITION = ("readers", "t", "0")

pytestmark = pytest.mark.parametrize("settings", [{"group_lag_check_interval_ms": "300"}], indirect=True)


class Scraped:
    """The samples of a process by name and the values of their labels, in the order in which they are told."""

    def __init__(self, service: Service) -> None:
        self._samples: dict[str, dict[tuple[str, ...], float]] = {}
        for family in text_string_to_metric_families(get_text(f"http://{service.http}/metrics")):
            for sample in family.samples:
                labels = tuple(sample.labels.values())
                self._samples.setdefault(sample.name, {})[labels] = sample.value

    def __call__(self, name: str, *labels: str) -> float:
        return self._samples[name][labels]

    def by_label(self, name: str) -> dict[tuple[str, ...], float]:
        return self._samples.get(name, {})


@pytest.fixture
def reader(cluster: Coordinated) -> Iterator[Consumer]:
    """A member of a group that has read and committed a part of what there is."""
    cluster.create("t")
    _write(cluster, WRITTEN)
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "readers",
            "client.id": "reader",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["t"])
    read = 0
    while read < READ:
        read += len(consumer.consume(READ - read, 1.0))
    consumer.commit(offsets=[TopicPartition("t", 0, READ)], asynchronous=False)
    yield consumer
    consumer.close()


def _write(cluster: Coordinated, count: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(count):
        producer.produce("t", str(number).encode(), partition=0)
    assert producer.flush(WAIT_S) == 0


def test_a_consumer_that_lags_is_seen_in_the_metrics(cluster: Coordinated, reader: Consumer) -> None:
    owner = cluster.owner_of_group("readers")

    def lag(messages: int) -> Callable[[], Scraped | None]:
        return lambda: (
            scraped if (scraped := Scraped(owner))("kafka_consumergroup_lag", *PARTITION) == messages else None
        )

    found = eventually(lag(WRITTEN - READ))
    assert found("kafka_consumergroup_current_offset", *PARTITION) == READ
    assert found("kafka_consumergroup_lag_sum", "readers", "t") == WRITTEN - READ
    assert 0 <= found("kafka_consumergroup_lag_seconds", *PARTITION) < 2 * WAIT_S
    assert found("kafka_consumergroup_members", "readers") == 1
    assert found("kafka_coordinator_group_groups", "Stable") == 1
    assert found("tidelog_group_rebalances_total", "member joined") == 1
    assert found("tidelog_group_rebalance_seconds_count", "join") == 1
    assert found("tidelog_group_rebalance_seconds_count", "sync") == 1
    assert found("tidelog_group_offset_commits_total") == 1
    assert found("tidelog_shard_load_seconds_count", "groups") >= 1
    assert all(seconds > 0 for seconds in found.by_label("tidelog_shard_last_load_seconds").values())
    requests = found.by_label("kafka_network_requestmetrics_requests_total")
    assert any("OffsetCommit" in labels for labels in requests), requests

    seconds = found("kafka_consumergroup_lag_seconds", *PARTITION)
    eventually(lambda: Scraped(owner)("kafka_consumergroup_lag_seconds", *PARTITION) > seconds + 1)
    reader.commit(offsets=[TopicPartition("t", 0, WRITTEN)], asynchronous=False)
    caught_up = eventually(lag(0))
    assert caught_up("kafka_consumergroup_lag_seconds", *PARTITION) == 0


def test_open_transactions_are_seen_in_the_metrics(cluster: Coordinated) -> None:
    cluster.create("t")
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": "tx"})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    producer.produce("t", b"open", partition=0)
    assert producer.flush(WAIT_S) == 0
    owner = cluster.owner_of_transactions("tx")

    def by_state() -> dict[str, float]:
        found = Scraped(owner).by_label("kafka_coordinator_transaction_ids")
        return {state: count for (state,), count in found.items() if count}

    assert by_state() == {"Ongoing": 1}
    producer.commit_transaction(WAIT_S)
    eventually(lambda: by_state() == {"CompleteCommit": 1})
    assert Scraped(owner)("tidelog_shard_load_seconds_count", "transactions") >= 1


def test_brokers_count_what_they_pass_on_and_what_they_refuse(cluster: Coordinated) -> None:
    cluster.create("t")
    member = Member(cluster, "g")
    member.join()
    member.sync({member.member_id: b"everything"})
    broker = cluster.coordinator_broker("g")
    links = Scraped(broker).by_label("tidelog_relay_requests_under_way")
    assert set(links.values()) == {0.0}
    for coordinator in cluster.coordinators.values():
        coordinator.kill()
    answer = call(broker, member.heartbeat_request(), HEARTBEAT)
    assert answer.error_code in TRY_AGAIN, KafkaCode(answer.error_code)
    assert sum(Scraped(broker).by_label("tidelog_relay_refusals_total").values()) == 1


def test_groups_are_shown_over_grpc_and_rest(cluster: Coordinated, reader: Consumer, services: Services) -> None:
    metadata = services.start("metadata", 1).wait_ready()
    base = f"http://{metadata.http}/api/v1/groups"

    def behind() -> dict[str, Any] | None:
        page = get_json(f"{base}/readers")
        return page if page.get("offsets") and page["offsets"][0]["lag"] == WRITTEN - READ else None

    page = eventually(behind)
    assert (page["state"], page["protocol_type"], page["generation_id"]) == ("Stable", "consumer", 1)
    (member,) = page["members"]
    assert member["client_id"] == "reader"
    assert member["assignment"] == [{"topic": "t", "partition": 0}]
    (offset,) = page["offsets"]
    assert (offset["topic"], offset["partition"], offset["offset"]) == ("t", 0, READ)
    assert offset["lag_seconds"] >= 0
    listed = get_json(base)
    line = {"group_id": "readers", "state": "Stable", "protocol": "range", "members": 1, "lag": WRITTEN - READ}
    assert listed == {"groups": [line], "complete": True}
    assert "no group" in get_json(f"{base}/nobody")["detail"]

    with grpc.insecure_channel(metadata.grpc) as channel:
        lag = metadata_pb2_grpc.MetadataStub(channel).DescribeLag(metadata_pb2.DescribeLagRequest(), timeout=WAIT_S)
    (told,) = lag.groups[0].partitions
    assert (told.committed_offset, told.log_end_offset, told.lag) == (READ, WRITTEN, WRITTEN - READ)


def test_coordinators_tell_their_shards_and_only_their_own_groups(cluster: Coordinated) -> None:
    cluster.create("t")
    assert Member(cluster, "g").join().error_code == KafkaCode.NONE
    owner, epoch = cluster.shard("g")
    active = group_coordinator_pb2.ShardState.ACTIVE

    def held() -> dict[int, list[group_coordinator_pb2.ShardState]] | None:
        states = {id: _shards(coordinator) for id, coordinator in cluster.coordinators.items()}
        return states if all(state.phase == active for each in states.values() for state in each) else None

    states = eventually(held)
    (mine,) = [state for state in states[owner] if state.groups]
    assert (mine.shard.coordinator, mine.shard.epoch) == (owner, epoch)
    groups = {id: _groups(coordinator, "g") for id, coordinator in cluster.coordinators.items()}
    assert groups == {owner: ["CompletingRebalance"], 15 - owner: []}


def _stub(channel: grpc.Channel) -> group_coordinator_pb2_grpc.GroupCoordinatorStub:
    return group_coordinator_pb2_grpc.GroupCoordinatorStub(channel)


def _shards(coordinator: Service) -> list[group_coordinator_pb2.ShardState]:
    with grpc.insecure_channel(coordinator.grpc) as channel:
        answer = _stub(channel).DescribeShards(group_coordinator_pb2.DescribeShardsRequest(), timeout=WAIT_S)
    return list(answer.shards)


def _groups(coordinator: Service, group: str) -> list[str]:
    with grpc.insecure_channel(coordinator.grpc) as channel:
        request = group_coordinator_pb2.DescribeGroupsRequest(group_ids=[group])
        answer = _stub(channel).DescribeGroups(request, timeout=WAIT_S)
    return [each.state for each in answer.groups]
