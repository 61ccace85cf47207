"""Groups of stock clients, each with the assignors it has: members come, leave, die, sleep, restart and commit."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.support.member_process import MemberProcess, Subscription
from tests.support.services import Services
from tests.support.waiting import WAIT_S, eventually, never
from tests.support.zookeeper import EmbeddedZookeeper

pytestmark = pytest.mark.timeout(600)

PARTITIONS = 6
SESSION_MS = 6_000
# Longer than a JVM takes to start on a busy machine.
LONG_SESSION_MS = 60_000
RECORDS = 60
ASSIGNORS = {
    "confluent": ("range", "roundrobin", "cooperative-sticky"),
    "kafka-python": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "aiokafka": ("range", "roundrobin", "sticky"),
    "java": ("range", "roundrobin", "sticky", "cooperative-sticky"),
}
EVERY_ASSIGNOR = [(client, strategy) for client, strategies in ASSIGNORS.items() for strategy in strategies]
# Java's tool commits by itself what it has read, and takes no commands.
COMMANDED = ["confluent", "kafka-python", "aiokafka"]

REFUSED = re.compile("UNKNOWN_MEMBER_ID|ILLEGAL_GENERATION|UnknownMemberId|IllegalGeneration|CommitFailedError")

_names = itertools.count()


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster with a coordinator."""
    zookeeper = EmbeddedZookeeper(tmp_path_factory.mktemp("zookeeper")).start_ready()
    services = Services(f"{zookeeper.connect}/groups", tmp_path_factory.mktemp("groups"))
    partitions = {"offsets_topic_num_partitions": "5"}
    try:
        services.start("controller", 0)
        services.start("group-coordinator", 7, group_initial_rebalance_delay_ms="100", **partitions)
        broker = services.start("broker", 1, offsets_topic_replication_factor="1", **partitions)
        for service in services.all:
            service.wait_ready()
        yield broker.kafka
    finally:
        services.end()
        zookeeper.stop()


class Scene:
    """A topic with records in it, and a group that reads it."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.bootstrap = bootstrap
        self.folder = folder
        self.name = f"groups-{next(_names)}"
        self.members: list[MemberProcess] = []
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(self.name, PARTITIONS, 1)])[self.name].result(WAIT_S)

    def write(self, count: int = RECORDS) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "acks": "all"})
        for number in range(count):
            producer.produce(self.name, str(number).encode(), partition=number % PARTITIONS)
        assert producer.flush(WAIT_S) == 0

    def join(
        self, client: str, strategy: str, instance: str | None = None, session_ms: int = SESSION_MS
    ) -> MemberProcess:
        subscription = Subscription(client, strategy, self.bootstrap, self.name, self.name, session_ms, instance)
        member = MemberProcess(self.folder, subscription)
        self.members.append(member)
        return member

    def await_shares(self, *members: MemberProcess) -> None:
        """Until these have all partitions among them, each one has some, and nobody has another's."""
        every = list(range(PARTITIONS))

        def shared() -> bool:
            owned = [member.owned for member in members]
            return all(owned) and sorted(itertools.chain(*owned)) == every

        eventually(shared)

    def committed(self) -> int:
        """The sum of what the group has committed."""
        settings: dict[str, Any] = {"bootstrap.servers": self.bootstrap, "group.id": self.name}
        consumer = Consumer(settings)
        try:
            found = consumer.committed([TopicPartition(self.name, each) for each in range(PARTITIONS)], WAIT_S)
            return sum(max(each.offset, 0) for each in found)
        finally:
            consumer.close()


@pytest.fixture
def scene(bootstrap: str, tmp_path: Path) -> Iterator[Scene]:
    made = Scene(bootstrap, tmp_path)
    yield made
    for member in made.members:
        member.end()


@pytest.mark.parametrize(("client", "strategy"), EVERY_ASSIGNOR)
def test_members_join_leave_and_are_killed(scene: Scene, client: str, strategy: str) -> None:
    first = scene.join(client, strategy)
    scene.await_shares(first)
    second, third = scene.join(client, strategy), scene.join(client, strategy)
    scene.await_shares(first, second, third)
    second.leave()
    scene.await_shares(first, third)
    first.kill()
    scene.await_shares(third)
    before = third.consumed
    scene.write()
    eventually(lambda: third.consumed - before >= RECORDS)


@pytest.mark.parametrize("client", list(ASSIGNORS))
def test_a_static_member_restarts_without_a_rebalance(scene: Scene, client: str) -> None:
    first, second = (scene.join(client, "range", instance, LONG_SESSION_MS) for instance in ("one", "two"))
    scene.await_shares(first, second)
    had, told = second.owned, first.rebalances
    second.kill()
    again = scene.join(client, "range", "two", LONG_SESSION_MS)
    eventually(lambda: again.owned == had)
    never(lambda: first.rebalances != told, 2.0)
    scene.await_shares(first, again)


@pytest.mark.parametrize("client", COMMANDED)
@pytest.mark.parametrize("how", ["sync", "async"])
def test_what_was_read_is_committed(scene: Scene, client: str, how: str) -> None:
    scene.write()
    member = scene.join(client, "range")
    eventually(lambda: member.consumed == RECORDS)
    assert member.commit(how) == (True, "None")
    assert scene.committed() == RECORDS
    member.leave()
    successor = scene.join(client, "range")
    scene.await_shares(successor)
    never(lambda: successor.consumed, 1.0)


def test_a_java_consumer_commits_what_it_read(scene: Scene) -> None:
    scene.write()
    member = scene.join("java", "range")
    eventually(lambda: member.consumed == RECORDS)
    eventually(lambda: scene.committed() == RECORDS)
    assert all(succeeded for succeeded, _ in member.commits())


@pytest.mark.parametrize("client", COMMANDED)
def test_a_member_that_slept_beyond_its_session_cannot_commit(scene: Scene, client: str) -> None:
    scene.write()
    sleeper = scene.join(client, "range")
    eventually(lambda: sleeper.consumed == RECORDS)
    other = scene.join(client, "range")
    scene.await_shares(sleeper, other)
    sleeper.pause()
    try:
        eventually(lambda: len(other.owned) == PARTITIONS, 4 * SESSION_MS / 1000 + WAIT_S)
        sleeper.ask_commit("sync")
    finally:
        sleeper.resume()
    succeeded, why = eventually(sleeper.commits)[0]
    assert not succeeded
    # 22 or 25 from the coordinator, in the words of each client, and nothing that the client found out by itself;
    # aiokafka has one word for these two and 27.
    assert REFUSED.search(why), why
    assert scene.committed() == 0
    scene.await_shares(sleeper, other)


def test_clients_of_different_makers_share_a_group(scene: Scene) -> None:
    members = [scene.join(client, "range") for client in ASSIGNORS]
    scene.await_shares(*members)
    scene.write()
    eventually(lambda: sum(member.consumed for member in members) >= RECORDS)
