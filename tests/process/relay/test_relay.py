"""Requests about groups and transactions are passed on to the coordinators that own them, and their answers come back."""

import asyncio
import ipaddress

import pytest

from tests.process.relay.conftest import ELSEWHERE, Cluster, name_in
from tests.support.async_waiting import eventually_true
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.waiting import WAIT_S
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from tidelog.kafka.wire.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.kafka.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from tidelog.kafka.wire.messages.find_coordinator import FindCoordinatorRequest
from tidelog.kafka.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tidelog.kafka.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tidelog.kafka.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from tidelog.kafka.wire.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from tidelog.kafka.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.kafka.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from tidelog.kafka.wire.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from tidelog.net.connection import Connection, ConnectionLostError


@pytest.mark.parametrize("version", range(5))
async def test_a_request_and_its_answer_go_through_unchanged(
    connection: Connection, coordinator: FakeCoordinator, version: int
) -> None:
    request = HeartbeatRequest(group_id=name_in(0), generation_id=7, member_id="naïve ☃")
    call = asyncio.create_task(connection.call(request, version, timeout_s=WAIT_S))
    asked = await coordinator.next()
    assert asked.request == request
    assert (asked.header.client_id, asked.header.api_version, asked.broker) == ("test", version, "1")
    assert asked.client_host == ipaddress.ip_address("127.0.0.1").packed
    asked.answer(HeartbeatResponse(error_code=KafkaCode.REBALANCE_IN_PROGRESS))
    assert (await call).error_code == KafkaCode.REBALANCE_IN_PROGRESS


async def test_a_client_gets_its_answers_in_order_and_others_do_not_wait_for_it(
    cluster: Cluster, connection: Connection, coordinator: FakeCoordinator
) -> None:
    coordinator.always_answers(HeartbeatRequest, HeartbeatResponse())
    join = asyncio.create_task(connection.call(JoinGroupRequest(group_id=name_in(0)), 5, timeout_s=WAIT_S))
    waiting = await coordinator.next()
    heartbeat = HeartbeatRequest(group_id=name_in(0))
    behind = asyncio.create_task(connection.call(heartbeat, 3, timeout_s=WAIT_S))
    other = await cluster.connect()
    assert (await other.call(heartbeat, 3, timeout_s=WAIT_S)).error_code == 0
    assert not behind.done()
    waiting.answer(JoinGroupResponse(member_id="m"))
    assert ((await join).member_id, (await behind).error_code) == ("m", 0)
    other.close()


async def test_each_shard_has_its_owner(cluster: Cluster, connection: Connection) -> None:
    for id, one in cluster.coordinators.items():
        one.always_answers(EndTxnRequest, EndTxnResponse(error_code=id))
        one.always_answers(TxnOffsetCommitRequest, TxnOffsetCommitResponse(throttle_time_ms=id))
    for shard in range(ELSEWHERE):
        ended = await connection.call(EndTxnRequest(transactional_id=name_in(shard)), 3, timeout_s=WAIT_S)
        request = TxnOffsetCommitRequest(transactional_id="any", group_id=name_in(shard))
        committed = await connection.call(request, 3, timeout_s=WAIT_S)
        assert ended.error_code == committed.throttle_time_ms == 1 + shard % 2


async def test_a_shard_that_another_broker_leads(connection: Connection) -> None:
    name = name_in(ELSEWHERE)
    topic = OffsetCommitRequestTopic(name="none", partitions=[OffsetCommitRequestPartition(partition_index=0)])
    heartbeat = await connection.call(HeartbeatRequest(group_id=name), 3, timeout_s=WAIT_S)
    end = await connection.call(EndTxnRequest(transactional_id=name), 3, timeout_s=WAIT_S)
    init = await connection.call(InitProducerIdRequest(transactional_id=name), 4, timeout_s=WAIT_S)
    fetch = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name, topics=None)])
    fetched = await connection.call(fetch, 8, timeout_s=WAIT_S)
    codes = [heartbeat.error_code, end.error_code, init.error_code, fetched.groups[0].error_code]
    assert codes == [KafkaCode.NOT_COORDINATOR] * 4
    commit = await connection.call(OffsetCommitRequest(group_id=name, topics=[topic]), 7, timeout_s=WAIT_S)
    assert commit.topics[0].partitions[0].error_code == KafkaCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_name_is_required_wherever_it_is_asked(connection: Connection) -> None:
    join = await connection.call(JoinGroupRequest(group_id=""), 5, timeout_s=WAIT_S)
    end = await connection.call(EndTxnRequest(transactional_id=""), 3, timeout_s=WAIT_S)
    described = await connection.call(DescribeTransactionsRequest(transactional_ids=[""]), 0, timeout_s=WAIT_S)
    assert join.error_code == KafkaCode.INVALID_GROUP_ID
    assert end.error_code == described.transaction_states[0].error_code == KafkaCode.INVALID_REQUEST


async def test_offsets_can_be_those_of_the_group_without_a_name(
    connection: Connection, coordinator: FakeCoordinator
) -> None:
    coordinator.always_answers(OffsetFetchRequest, OffsetFetchResponse(error_code=KafkaCode.GROUP_AUTHORIZATION_FAILED))
    fetched = await connection.call(OffsetFetchRequest(group_id=""), 5, timeout_s=WAIT_S)
    assert fetched.error_code == KafkaCode.GROUP_AUTHORIZATION_FAILED


async def test_several_groups_are_asked_of_their_owners(cluster: Cluster, connection: Connection) -> None:
    names = [name_in(shard) for shard in (0, 1, 2, ELSEWHERE, 0)]

    def describe(request: DescribeGroupsRequest) -> DescribeGroupsResponse:
        return DescribeGroupsResponse(
            groups=[DescribedGroup(group_id=name, group_state="Empty") for name in request.groups]
        )

    for one in cluster.coordinators.values():
        one.answers(DescribeGroupsRequest, describe)
    answer = await connection.call(DescribeGroupsRequest(groups=names), 5, timeout_s=WAIT_S)
    told = [(group.group_id, group.error_code) for group in answer.groups]
    assert told == [(name, 16 if name == names[3] else 0) for name in names]
    seen = {id: [asked.request for asked in one.seen] for id, one in cluster.coordinators.items()}
    assert seen[1] == [DescribeGroupsRequest(groups=[names[0], names[2], names[4]])]
    assert seen[2] == [DescribeGroupsRequest(groups=[names[1]])]


async def test_offsets_of_several_groups(cluster: Cluster, connection: Connection) -> None:
    def fetched(request: OffsetFetchRequest) -> OffsetFetchResponse:
        return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id=one.group_id) for one in request.groups])

    for one in cluster.coordinators.values():
        one.answers(OffsetFetchRequest, fetched)
    for names in ([name_in(0)], [name_in(0), name_in(1)], [name_in(0), name_in(ELSEWHERE)], []):
        groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
        answer = await connection.call(OffsetFetchRequest(groups=groups), 8, timeout_s=WAIT_S)
        assert [group.group_id for group in answer.groups] == names


async def test_the_groups_of_a_broker_are_those_of_all_owners(cluster: Cluster, connection: Connection) -> None:
    for id, one in cluster.coordinators.items():
        one.always_answers(ListGroupsRequest, ListGroupsResponse(groups=[ListedGroup(group_id=f"of {id}")]))
    answer = await connection.call(ListGroupsRequest(), 4, timeout_s=WAIT_S)
    assert {group.group_id for group in answer.groups} == {"of 1", "of 2"}
    await cluster.coordinators[2].stop()
    refused = await connection.call(ListGroupsRequest(), 4, timeout_s=WAIT_S)
    assert refused.error_code in (KafkaCode.COORDINATOR_NOT_AVAILABLE, KafkaCode.NOT_COORDINATOR)


async def test_a_producer_id_with_a_transactional_id(connection: Connection, coordinator: FakeCoordinator) -> None:
    coordinator.always_answers(InitProducerIdRequest, InitProducerIdResponse(producer_id=77, producer_epoch=3))
    answer = await connection.call(InitProducerIdRequest(transactional_id=name_in(2)), 4, timeout_s=WAIT_S)
    assert (answer.producer_id, answer.producer_epoch) == (77, 3)


async def test_what_the_coordinator_cannot_read_closes_the_connection(
    connection: Connection, coordinator: FakeCoordinator
) -> None:
    call = asyncio.create_task(connection.call(HeartbeatRequest(group_id=name_in(0)), 3, timeout_s=WAIT_S))
    (await coordinator.next()).refuse_to_read(KafkaCode.INVALID_REQUEST)
    with pytest.raises(ConnectionLostError):
        await call


async def test_a_coordinator_that_dies_and_comes_back(
    cluster: Cluster, connection: Connection, coordinator: FakeCoordinator
) -> None:
    heartbeat = HeartbeatRequest(group_id=name_in(0))
    call = asyncio.create_task(connection.call(heartbeat, 3, timeout_s=WAIT_S))
    await coordinator.next()
    port = coordinator.port
    await coordinator.stop()
    assert (await call).error_code == KafkaCode.NOT_COORDINATOR
    refused = await connection.call(heartbeat, 3, timeout_s=WAIT_S)
    assert refused.error_code == KafkaCode.COORDINATOR_NOT_AVAILABLE
    coordinator.always_answers(HeartbeatRequest, HeartbeatResponse())
    await coordinator.start(port)

    async def is_back() -> bool:
        return (await connection.call(heartbeat, 3, timeout_s=WAIT_S)).error_code == 0

    while not await is_back():
        await asyncio.sleep(0.05)


async def test_a_coordinator_that_leaves_the_cluster_is_hung_up_on(
    cluster: Cluster, connection: Connection, coordinator: FakeCoordinator
) -> None:
    join = asyncio.create_task(connection.call(JoinGroupRequest(group_id=name_in(0)), 5, timeout_s=WAIT_S))
    await coordinator.next()
    cluster.tell(without=1)
    assert (await join).error_code == KafkaCode.NOT_COORDINATOR
    await eventually_true(lambda: not coordinator.connections[0].is_open)
    refused = await connection.call(HeartbeatRequest(group_id=name_in(0)), 3, timeout_s=WAIT_S)
    assert refused.error_code == KafkaCode.COORDINATOR_NOT_AVAILABLE


async def test_a_new_incarnation_gets_a_new_connection(
    cluster: Cluster, connection: Connection, coordinator: FakeCoordinator
) -> None:
    coordinator.always_answers(HeartbeatRequest, HeartbeatResponse())
    heartbeat = HeartbeatRequest(group_id=name_in(0))
    for epoch in (1001, 1002):
        cluster.tell(epoch=epoch)
        assert (await connection.call(heartbeat, 3, timeout_s=WAIT_S)).error_code == 0
    await eventually_true(lambda: [one.is_open for one in coordinator.connections] == [False, True])


async def test_who_waits_too_long_for_a_coordinator(connection: Connection, coordinator: FakeCoordinator) -> None:
    heartbeat = HeartbeatRequest(group_id=name_in(0))
    call = asyncio.create_task(connection.call(heartbeat, 3, timeout_s=WAIT_S))
    late = await coordinator.next()
    assert (await call).error_code == KafkaCode.COORDINATOR_NOT_AVAILABLE
    late.answer(HeartbeatResponse())
    coordinator.always_answers(HeartbeatRequest, HeartbeatResponse())
    assert (await connection.call(heartbeat, 3, timeout_s=WAIT_S)).error_code == 0


@pytest.mark.parametrize("key_type", [0, 1])
async def test_clients_are_told_the_leader(cluster: Cluster, connection: Connection, key_type: int) -> None:
    name = name_in(0)
    found = await connection.call(FindCoordinatorRequest(key=name, key_type=key_type), 3, timeout_s=WAIT_S)
    host, port = cluster.controller.broker.kafka.split(":")
    assert (found.error_code, found.node_id, found.host, found.port) == (0, 1, host, int(port))
    request = FindCoordinatorRequest(coordinator_keys=[name, name_in(ELSEWHERE)], key_type=key_type)
    batched = await connection.call(request, 4, timeout_s=WAIT_S)
    assert [one.error_code for one in batched.coordinators] == [0, KafkaCode.COORDINATOR_NOT_AVAILABLE]
    assert [one.node_id for one in batched.coordinators] == [1, -1]


async def test_no_coordinator_is_found_while_nobody_owns_the_shard(cluster: Cluster, connection: Connection) -> None:
    cluster.tell(owned=False)
    found = await connection.call(FindCoordinatorRequest(key=name_in(0)), 3, timeout_s=WAIT_S)
    assert found.error_code == KafkaCode.COORDINATOR_NOT_AVAILABLE
    other = await connection.call(FindCoordinatorRequest(key="any", key_type=2), 3, timeout_s=WAIT_S)
    assert other.error_code == KafkaCode.INVALID_REQUEST
