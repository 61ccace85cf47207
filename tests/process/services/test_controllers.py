"""Controllers that die, hang and come back: there is always one, and only the newest is listened to."""

import signal
from collections.abc import Iterator

import grpc
import pytest

from tests.support.cluster_view import Zookeeper, brokers_told, described, zookeeper_at
from tests.support.services import Service, Services
from tests.support.waiting import eventually
from tidelog.kafka.errors import KafkaCode
from tidelog.rpc import broker_pb2_grpc, types_pb2

SHORT_SESSION_MS = 2_000


@pytest.fixture
def zk(services: Services) -> Iterator[Zookeeper]:
    with zookeeper_at(services.zookeeper) as view:
        yield view


def two_controllers(services: Services, **settings: str) -> list[Service]:
    controllers = [services.start("controller", id, **settings) for id in (0, 1)]
    return [controller.wait_ready() for controller in controllers]


def active_of(controllers: list[Service]) -> Service:
    """The one that says so itself; exactly one must."""

    def the_one() -> list[Service]:
        active = [each for each in controllers if each.process.poll() is None and each.readyz()["detail"]["active"]]
        return active if len(active) == 1 else []

    return eventually(the_one)[0]


def test_one_of_two_is_active_and_zookeeper_names_it(services: Services, zk: Zookeeper) -> None:
    active = active_of(two_controllers(services))
    assert zk.active_controller() == active.id
    assert zk.epoch() == 1
    assert zk.ids("/controllers/ids") == {0, 1}


def test_a_killed_controller_is_replaced_long_before_its_session_ends(services: Services, zk: Zookeeper) -> None:
    controllers = two_controllers(services, zookeeper_session_timeout_ms="30000")
    active = active_of(controllers)
    standby = next(each for each in controllers if each is not active)
    epoch = zk.epoch()
    active.kill()
    eventually(lambda: zk.active_controller() == standby.id, seconds=10)
    assert zk.epoch() == epoch + 1
    assert active_of([standby]) is standby
    eventually(lambda: zk.ids("/controllers/ids") == {standby.id}, seconds=10)


def test_without_early_fencing_a_killed_controller_is_replaced_when_its_session_ends(
    services: Services, zk: Zookeeper
) -> None:
    controllers = two_controllers(
        services, zookeeper_session_timeout_ms=str(SHORT_SESSION_MS), early_fencing_enable="false"
    )
    active = active_of(controllers)
    standby = next(each for each in controllers if each is not active)
    epoch = zk.epoch()
    active.kill()
    eventually(lambda: zk.active_controller() == standby.id)
    assert zk.epoch() == epoch + 1


def test_a_controller_that_slept_through_its_session_is_refused_and_steps_down(
    services: Services, zk: Zookeeper
) -> None:
    controllers = two_controllers(services, zookeeper_session_timeout_ms=str(SHORT_SESSION_MS))
    broker = services.start("broker", 1).wait_ready()
    zombie = active_of(controllers)
    other = next(each for each in controllers if each is not zombie)
    old_epoch, old_version = zk.epoch(), zk.client.exists("/controller_epoch").version

    zombie.signal(signal.SIGSTOP)
    eventually(lambda: zk.active_controller() == other.id)
    eventually(lambda: described(broker).controller_epoch == old_epoch + 1)

    # What the sleeper may still have in its hands: a write and a request that carry its epoch.
    transaction = zk.client.transaction()
    transaction.check("/controller_epoch", old_version)
    transaction.create("/late-write", b"")
    transaction.commit()
    assert zk.client.exists("/late-write") is None, "a write with the old epoch went through"
    assert refusal(broker, old_epoch) is KafkaCode.STALE_CONTROLLER_EPOCH

    zombie.signal(signal.SIGCONT)
    eventually(lambda: "resigned" in zombie.text())
    zombie.wait_ready()
    assert active_of(controllers) is other
    assert zk.epoch() == old_epoch + 1, "waking up is no reason for another election"
    assert brokers_told(broker) == {1}


def refusal(broker: Service, controller_epoch: int) -> KafkaCode:
    """The code with which the broker refuses an update of that controller epoch."""
    request = types_pb2.UpdateMetadataRequest(controller_id=0, controller_epoch=controller_epoch, recipient_epoch=-1)
    with grpc.insecure_channel(broker.grpc) as channel, pytest.raises(grpc.RpcError) as refused:
        broker_pb2_grpc.BrokerStub(channel).UpdateMetadata(request, timeout=5)
    codes = [one.value for one in refused.value.trailing_metadata() or () if one.key == "kafka-error-code"]
    return KafkaCode(int(codes[0]))


def test_a_stopped_controller_hands_over_at_once_and_exits_with_0(services: Services, zk: Zookeeper) -> None:
    controllers = two_controllers(services, zookeeper_session_timeout_ms="30000")
    active = active_of(controllers)
    standby = next(each for each in controllers if each is not active)
    assert active.stop() == 0
    eventually(lambda: zk.active_controller() == standby.id, seconds=10)


def test_a_single_controller_that_is_killed_and_restarted_takes_over_from_itself(
    services: Services, zk: Zookeeper
) -> None:
    controller = services.start("controller", 0, zookeeper_session_timeout_ms="30000").wait_ready()
    epoch = zk.epoch()
    controller.kill()
    controller.start().wait_ready()
    assert zk.epoch() == epoch + 1
    assert active_of([controller]) is controller


def test_removing_the_controller_node_by_hand_forces_an_election(services: Services, zk: Zookeeper) -> None:
    controllers = two_controllers(services)
    active_of(controllers)
    epoch = zk.epoch()
    zk.client.delete("/controller")
    eventually(lambda: zk.epoch() == epoch + 1)
    # For a moment the former one does not know yet.
    eventually(lambda: zk.active_controller() == active_of(controllers).id)
