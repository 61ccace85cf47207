"""The four strategies: who leads, who is in sync, who is told."""

import pytest

from tidelog.controller.core import elections
from tidelog.controller.core.assignment import Assignment
from tidelog.controller.core.elections import IsLive
from tidelog.controller.core.leadership import Leadership


def among(*ids: int) -> IsLive:
    return lambda id: id in ids


def known(leader: int, *isr: int) -> Leadership:
    return Leadership(leader, isr, leader_epoch=4, controller_epoch=1, partition_epoch=9)


def test_offline_elects_the_first_live_replica_in_sync_and_keeps_the_live_isr() -> None:
    election = elections.elect_offline(Assignment((1, 2, 3)), known(1, 3, 1, 2), among(2, 3), unclean_allowed=False)
    assert election is not None
    assert (election.leader, election.leadership.isr, election.leadership.leader_epoch) == (2, (3, 2), 5)
    assert election.told == (2, 3)
    assert election.leadership.partition_epoch == 9, "the version to expect is the one that was read"
    assert not election.leadership.recovering


def test_offline_prefers_a_clean_leader_even_if_unclean_is_allowed() -> None:
    election = elections.elect_offline(Assignment((1, 2, 3)), known(1, 1, 3), among(2, 3), unclean_allowed=True)
    assert election is not None
    assert (election.leader, election.leadership.isr) == (3, (3,))


def test_offline_without_a_live_replica_in_sync_fails_unless_unclean_is_allowed() -> None:
    assignment, was = Assignment((1, 2, 3)), known(1, 1)
    assert elections.elect_offline(assignment, was, among(2, 3), unclean_allowed=False) is None
    election = elections.elect_offline(assignment, was, among(2, 3), unclean_allowed=True)
    assert election is not None
    assert (election.leader, election.leadership.isr, election.leadership.recovering) == (2, (2,), True)
    assert election.told == (2, 3)


def test_offline_with_nobody_live_fails_whatever_is_allowed() -> None:
    assert elections.elect_offline(Assignment((1, 2)), known(1, 1), among(), unclean_allowed=True) is None


def test_reassign_elects_from_the_target_and_leaves_the_isr() -> None:
    assignment = Assignment((1, 2, 3, 4), adding=(3, 4), removing=(1, 2))
    election = elections.elect_for_reassignment(assignment, known(1, 1, 2, 3, 4), among(1, 2, 4))
    assert election is not None
    assert (election.leader, election.leadership.isr, election.told) == (4, (1, 2, 3, 4), (3, 4))


def test_reassign_fails_if_the_target_is_not_live_and_in_sync() -> None:
    assignment = Assignment((3, 1), adding=(3,), removing=(1,))
    assert elections.elect_for_reassignment(assignment, known(1, 1), among(1, 3)) is None
    assert elections.elect_for_reassignment(assignment, known(1, 1, 3), among(1)) is None


@pytest.mark.parametrize(("isr", "live", "leader"), [((2, 1), (1, 2), 1), ((2,), (1, 2), None), ((2, 1), (2,), None)])
def test_preferred_elects_the_first_replica_or_nobody(
    isr: tuple[int, ...], live: tuple[int, ...], leader: int | None
) -> None:
    election = elections.elect_preferred(Assignment((1, 2)), known(2, *isr), among(*live))
    assert (election and election.leader) == leader
    if election:
        assert (election.leadership.isr, election.told) == (isr, (1, 2))


def test_controlled_shutdown_leaves_out_whoever_is_shutting_down() -> None:
    election = elections.elect_for_shutdown(Assignment((1, 2, 3)), known(1, 1, 2, 3), among(1, 2, 3), among(1, 2))
    assert election is not None
    assert (election.leader, election.leadership.isr, election.told) == (3, (3,), (1, 2, 3))


def test_controlled_shutdown_fails_if_nobody_else_is_in_sync() -> None:
    assert elections.elect_for_shutdown(Assignment((1, 2)), known(1, 1), among(1, 2), among(1)) is None


def test_losing_the_leader_leaves_none_and_the_last_in_sync_replica_stays() -> None:
    assert known(1, 1, 2).without(1).isr == (2,)
    assert known(1, 1, 2).without(1).leader == -1
    assert known(1, 1, 2).without(2).leader == 1
    alone = known(1, 1).without(1)
    assert (alone.leader, alone.isr, alone.leader_epoch) == (-1, (1,), 5)
