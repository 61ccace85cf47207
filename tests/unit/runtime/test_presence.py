"""What a process knows of its own incarnations, before anybody calls another one dead."""

import asyncio

import pytest

from tidelog.runtime.presence import Incarnation, Verdict


def test_a_fresh_process_cannot_judge_any_registration() -> None:
    """The one asked about may be its own, written a moment ago and not answered yet."""
    assert Incarnation().judge(7) is Verdict.UNKNOWN


def test_it_is_the_incarnation_that_it_registered_as_and_none_before() -> None:
    incarnation = Incarnation()
    incarnation.begin(7)
    assert incarnation.judge(7) is Verdict.ALIVE
    assert incarnation.judge(6) is Verdict.DEAD


def test_a_later_registration_may_be_its_own_next_one() -> None:
    incarnation = Incarnation()
    incarnation.begin(7)
    assert incarnation.judge(8) is Verdict.UNKNOWN


def test_what_it_held_and_lost_is_over() -> None:
    incarnation = Incarnation()
    incarnation.begin(7)
    incarnation.disown(7)
    assert incarnation.epoch is None
    assert incarnation.judge(7) is Verdict.DEAD
    incarnation.begin(9)
    assert (incarnation.judge(9), incarnation.judge(7)) == (Verdict.ALIVE, Verdict.DEAD)


def test_a_registration_found_in_its_place_is_not_its_own() -> None:
    """So a restarted process proves the death of its predecessor, whose id it wants."""
    incarnation = Incarnation()
    incarnation.disown(5)
    assert incarnation.judge(5) is Verdict.DEAD
    assert incarnation.judge(6) is Verdict.UNKNOWN


def test_disowning_an_older_one_does_not_end_the_present_one() -> None:
    incarnation = Incarnation()
    incarnation.begin(7)
    incarnation.disown(5)
    assert incarnation.judge(7) is Verdict.ALIVE


@pytest.mark.parametrize("change", ["begin", "disown"])
async def test_every_change_wakes_who_waits(change: str) -> None:
    incarnation = Incarnation()
    waiting = asyncio.ensure_future(incarnation.changed())
    await asyncio.sleep(0)
    assert not waiting.done()
    getattr(incarnation, change)(3)
    await asyncio.wait_for(waiting, 1)
