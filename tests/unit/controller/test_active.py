"""The active controller and the processes it follows."""

from tidelog.controller.core.active import ActiveController, compare
from tidelog.controller.core.controller import Controller
from tidelog.controller.core.effects import Attend, DismissSender, Effect, Fence, OpenSender, Resign, Tell, Unattend
from tidelog.controller.core.events import (
    ControllerSeen,
    Elected,
    MembersChanged,
    PresenceLost,
    Registered,
    RegistrationLost,
)
from tidelog.kafka.cluster import Member, Role
from tidelog.kafka.types import BrokerEpoch, Endpoint


def member(id: int, epoch: int, port: int = 9092) -> Member:
    return Member(id, BrokerEpoch(epoch), (Endpoint("PLAINTEXT", "localhost", port),))


def members(*them: Member) -> dict[int, Member]:
    return {each.id: each for each in them}


def started(*brokers: Member, early_fencing: bool = True) -> ActiveController:
    active = ActiveController(0, 7, "cluster", early_fencing=early_fencing)
    active.start({Role.BROKER: members(*brokers)})
    return active


def told_brokers(effects: list[Effect]) -> list[int]:
    updates = [effect.update for effect in effects if isinstance(effect, Tell)]
    assert len(updates) == 1, "one update a change"
    assert updates[0].controller_epoch == 7
    return [broker.id for broker in updates[0].brokers]


def test_compare_tells_new_bounced_gone_and_moved_apart() -> None:
    before = members(member(1, 10), member(2, 11), member(3, 12), member(4, 13))
    after = members(member(2, 20), member(3, 12), member(4, 13, port=9999), member(5, 21))
    change = compare(before, after)
    assert change.new == (member(5, 21),)
    assert change.bounced == (member(2, 20),)
    assert change.gone == (1,)
    assert change.moved == (member(4, 13, port=9999),)


def test_start_connects_to_everybody_before_telling_anybody() -> None:
    active = ActiveController(0, 7, "cluster", early_fencing=True)
    effects = active.start(
        {
            Role.BROKER: members(member(1, 10)),
            Role.GROUP_COORDINATOR: members(member(0, 11)),
            Role.CONTROLLER: members(member(0, 12), member(1, 13)),
        }
    )
    assert effects[:-1] == [
        Attend(Role.BROKER, member(1, 10)),
        OpenSender(Role.BROKER, member(1, 10)),
        Attend(Role.GROUP_COORDINATOR, member(0, 11)),
        OpenSender(Role.GROUP_COORDINATOR, member(0, 11)),
        Attend(Role.CONTROLLER, member(1, 13)),
    ], "it neither attends itself nor sends to controllers"
    assert told_brokers(effects) == [1]


def test_a_dead_broker_is_left_and_everybody_hears() -> None:
    active = started(member(1, 10), member(2, 11))
    effects = active.on_members_changed(Role.BROKER, members(member(2, 11)))
    assert effects[:-1] == [Unattend(Role.BROKER, 1), DismissSender(Role.BROKER, 1)]
    assert told_brokers(effects) == [2]


def test_a_bounced_broker_gets_a_fresh_sender() -> None:
    active = started(member(1, 10))
    effects = active.on_members_changed(Role.BROKER, members(member(1, 20)))
    assert effects[:-1] == [Attend(Role.BROKER, member(1, 20)), OpenSender(Role.BROKER, member(1, 20))]


def test_nothing_new_tells_nobody() -> None:
    assert started(member(1, 10)).on_members_changed(Role.BROKER, members(member(1, 10))) == []


def test_fences_a_dead_incarnation_once() -> None:
    active = started(member(1, 10))
    assert active.on_presence_lost(Role.BROKER, 1, 10) == [Fence(Role.BROKER, 1, 10)]
    assert active.on_presence_lost(Role.BROKER, 1, 10) == []


def test_never_fences_an_incarnation_it_does_not_know() -> None:
    active = started(member(1, 20))
    assert active.on_presence_lost(Role.BROKER, 1, 10) == []
    assert active.on_presence_lost(Role.BROKER, 3, 10) == []


def test_early_fencing_can_be_switched_off() -> None:
    assert started(member(1, 10), early_fencing=False).on_presence_lost(Role.BROKER, 1, 10) == []


def test_a_returned_broker_can_be_fenced_again() -> None:
    active = started(member(1, 10))
    active.on_presence_lost(Role.BROKER, 1, 10)
    active.on_members_changed(Role.BROKER, {})
    active.on_members_changed(Role.BROKER, members(member(1, 20)))
    assert active.on_presence_lost(Role.BROKER, 1, 20) == [Fence(Role.BROKER, 1, 20)]


def test_a_standby_starts_acting_with_the_members_it_followed() -> None:
    controller = Controller(1, early_fencing=True)
    controller.on(MembersChanged(Role.BROKER, members(member(1, 10))))
    controller.on(Registered())
    controller.on(ControllerSeen(None, 4))
    effects = controller.on(Elected(7, 5))
    assert told_brokers(effects) == [1]
    assert (controller.is_active, controller.controller_epoch, controller.active_id) == (True, 7, 1)


def test_a_resigned_controller_tells_and_fences_nothing() -> None:
    controller = Controller(1, early_fencing=True)
    controller.on(MembersChanged(Role.BROKER, members(member(1, 10))))
    controller.on(Registered())
    controller.on(ControllerSeen(None, 4))
    controller.on(Elected(7, 5))
    assert Resign("session expired") in controller.on(RegistrationLost("session expired"))
    assert controller.snapshot() is None
    assert controller.on(PresenceLost(Role.BROKER, 1, 10)) == []
    assert controller.on(MembersChanged(Role.BROKER, {})) == []
