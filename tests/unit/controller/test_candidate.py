"""Elections as a candidate sees them: when it stands, whom it watches, when it steps down."""

import pytest

from tidelog.controller.core.candidate import Candidate, Standing
from tidelog.controller.core.effects import Attend, Elect, Resign, StartActing, Unattend
from tidelog.controller.core.events import ControllerSeen, Elected
from tidelog.kafka.cluster import Member, Role
from tidelog.kafka.types import BrokerEpoch

ME, OTHER = 1, 0


def member(id: int, epoch: int) -> Member:
    return Member(id, BrokerEpoch(epoch), ())


def standby(*, early_fencing: bool = True) -> Candidate:
    """Registered, with controller 0 active and known."""
    candidate = Candidate(ME, early_fencing=early_fencing)
    candidate.on_registered()
    candidate.on_controllers_changed({OTHER: member(OTHER, 10), ME: member(ME, 11)})
    assert candidate.on_controller_seen(ControllerSeen(OTHER, 5)) == [Attend(Role.CONTROLLER, member(OTHER, 10))]
    return candidate


def active() -> Candidate:
    candidate = Candidate(ME, early_fencing=True)
    candidate.on_registered()
    assert candidate.on_controller_seen(ControllerSeen(None, 4)) == [Elect()]
    assert candidate.on_elected(Elected(7, 5)) == [StartActing(7, 5)]
    return candidate


def test_stands_only_while_registered() -> None:
    candidate = Candidate(ME, early_fencing=True)
    assert candidate.on_controller_seen(ControllerSeen(None, 0)) == []
    assert candidate.on_registered() == [Elect()]


def test_does_not_elect_twice_at_a_time() -> None:
    candidate = Candidate(ME, early_fencing=True)
    candidate.on_registered()
    assert candidate.on_controller_seen(ControllerSeen(None, 0)) == [Elect()]
    assert candidate.on_controller_seen(ControllerSeen(None, 0)) == []


def test_takes_over_from_a_dead_active_controller_with_the_version_it_knew() -> None:
    candidate = standby()
    assert candidate.on_presence_lost(OTHER, 10) == [Unattend(Role.CONTROLLER, OTHER), Elect(5)]


def test_an_older_incarnations_death_is_old_news() -> None:
    candidate = standby()
    candidate.on_controllers_changed({OTHER: member(OTHER, 12), ME: member(ME, 11)})
    assert candidate.on_presence_lost(OTHER, 10) == []


def test_without_early_fencing_it_waits_for_the_session_to_end() -> None:
    candidate = standby(early_fencing=False)
    assert candidate.on_presence_lost(OTHER, 10) == []
    assert candidate.on_controller_seen(ControllerSeen(None, 5)) == [Unattend(Role.CONTROLLER, OTHER), Elect()]


def test_replaces_its_own_former_incarnation() -> None:
    candidate = Candidate(ME, early_fencing=True)
    candidate.on_registered()
    assert candidate.on_controller_seen(ControllerSeen(ME, 5)) == [Elect(5)]


def test_after_a_lost_election_it_waits_for_the_watch() -> None:
    candidate = standby()
    candidate.on_presence_lost(OTHER, 10)
    assert candidate.on_not_elected() == []
    assert candidate.standing is Standing.STANDBY
    assert candidate.on_controller_seen(ControllerSeen(2, 6)) == []
    assert candidate.on_controllers_changed({2: member(2, 13)}) == [Attend(Role.CONTROLLER, member(2, 13))]


def test_steps_down_when_another_is_named() -> None:
    candidate = active()
    candidate.on_controllers_changed({OTHER: member(OTHER, 10)})
    effects = candidate.on_controller_seen(ControllerSeen(OTHER, 6))
    assert [type(effect) for effect in effects] == [Resign, Attend]
    assert candidate.standing is Standing.STANDBY


def test_steps_down_when_it_is_named_with_another_epoch() -> None:
    """Its own id in /controller is not enough: a second incarnation may have written it."""
    effects = active().on_controller_seen(ControllerSeen(ME, 6))
    assert [type(effect) for effect in effects] == [Resign, Elect]


@pytest.mark.parametrize("named", [None, OTHER, ME])
def test_what_was_read_before_its_own_election_is_old_news(named: int | None) -> None:
    candidate = active()
    assert candidate.on_controller_seen(ControllerSeen(named, 4)) == []
    assert candidate.standing is Standing.ACTIVE
    assert candidate.active_id == ME


def test_a_controller_node_removed_by_hand_makes_it_stand_again() -> None:
    effects = active().on_controller_seen(ControllerSeen(None, 5))
    assert [type(effect) for effect in effects] == [Resign, Elect]


def test_seeing_itself_again_changes_nothing() -> None:
    assert active().on_controller_seen(ControllerSeen(ME, 5)) == []


def test_steps_down_when_a_write_was_refused_but_not_for_an_older_epochs_refusal() -> None:
    candidate = active()
    assert candidate.on_controller_moved(6) == []
    assert isinstance(candidate.on_controller_moved(7)[0], Resign)


@pytest.mark.parametrize("make", [standby, active])
def test_a_lost_registration_ends_everything(make) -> None:  # type: ignore[no-untyped-def]
    candidate = make()
    effects = candidate.on_registration_lost("session expired")
    assert candidate.standing is Standing.OUT
    assert (Resign("session expired") in effects) == (make is active)


def test_an_election_that_succeeds_after_the_registration_ended_is_given_up() -> None:
    candidate = Candidate(ME, early_fencing=True)
    candidate.on_registered()
    candidate.on_controller_seen(ControllerSeen(None, 4))
    candidate.on_registration_lost("session expired")
    assert isinstance(candidate.on_elected(Elected(7, 5))[0], Resign)
    assert candidate.standing is Standing.OUT
