"""The four ways to choose a leader. In each, the first replica in order of assignment that qualifies leads.

OFFLINE              the leader died: a live replica that is in sync; if allowed, any live one, at the price of records
REASSIGN             the leader is not among the target replicas: one of those that is live and in sync
PREFERRED            the first replica, if it is live and in sync
CONTROLLED_SHUTDOWN  brokers are about to stop: a replica in sync on a broker that stays; those that go leave the ISR
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from tidelog.controller.core.assignment import Assignment
from tidelog.controller.core.leadership import Leadership

IsLive = Callable[[int], bool]


class Strategy(Enum):
    OFFLINE = auto()
    # An administrator asked for a leader whatever it costs: as OFFLINE, whatever the topic's configuration says.
    OFFLINE_UNCLEAN = auto()
    REASSIGN = auto()
    PREFERRED = auto()
    CONTROLLED_SHUTDOWN = auto()


@dataclass(frozen=True, slots=True)
class Election:
    """What was chosen, and which replicas are told."""

    leadership: Leadership
    told: tuple[int, ...]

    @property
    def leader(self) -> int:
        return self.leadership.leader


def has_live_in_sync(assignment: Assignment, known: Leadership, is_live: IsLive) -> bool:
    return _first_in_sync(assignment.replicas, known, is_live) is not None


def elect_offline(
    assignment: Assignment, known: Leadership, is_live: IsLive, *, unclean_allowed: bool
) -> Election | None:
    live = tuple(filter(is_live, assignment.replicas))
    leader = _first_in_sync(live, known, is_live)
    if leader is not None:
        return Election(known.led_by(leader, tuple(filter(is_live, known.isr))), live)
    if not (unclean_allowed and live):
        return None
    return Election(known.led_by(live[0], live[:1], recovering=True), live)


def elect_for_reassignment(assignment: Assignment, known: Leadership, is_live: IsLive) -> Election | None:
    target = assignment.target
    leader = _first_in_sync(target, known, is_live)
    return None if leader is None else Election(known.led_by(leader, known.isr), target)


def elect_preferred(assignment: Assignment, known: Leadership, is_live: IsLive) -> Election | None:
    leader = _first_in_sync(assignment.replicas[:1], known, is_live)
    return None if leader is None else Election(known.led_by(leader, known.isr), assignment.replicas)


def elect_for_shutdown(
    assignment: Assignment, known: Leadership, is_live_or_shutting_down: IsLive, is_shutting_down: IsLive
) -> Election | None:
    there = tuple(filter(is_live_or_shutting_down, assignment.replicas))
    leader = _first_in_sync(there, known, lambda id: not is_shutting_down(id))
    if leader is None:
        return None
    return Election(known.led_by(leader, tuple(id for id in known.isr if not is_shutting_down(id))), there)


def _first_in_sync(replicas: tuple[int, ...], known: Leadership, qualifies: IsLive) -> int | None:
    return next((id for id in replicas if id in known.isr and qualifies(id)), None)
