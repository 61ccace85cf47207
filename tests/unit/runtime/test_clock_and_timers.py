"""Manual time: everything due is done at its own moment, in a fixed order."""

import asyncio
import logging
import time

import pytest

from tidelog.runtime.clock import ManualClock, SystemClock
from tidelog.runtime.timers import LoopTimers, ManualTimers


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(now_ms=1_000_000)


@pytest.fixture
def timers(clock: ManualClock) -> ManualTimers:
    return ManualTimers(clock)


def test_system_clock_tells_wall_time_in_ms_and_never_steps_back() -> None:
    clock = SystemClock()
    assert abs(clock.now_ms() - time.time() * 1000) < 1000
    first = clock.monotonic_ms()
    assert clock.monotonic_ms() >= first


def test_advancing_moves_both_readings(clock: ManualClock) -> None:
    clock.advance(1500)
    assert (clock.now_ms(), clock.monotonic_ms()) == (1_001_500, 1500.0)


def test_setting_the_wall_leaves_monotonic_time_and_timers_alone(clock: ManualClock, timers: ManualTimers) -> None:
    fired: list[str] = []
    timers.after(100, lambda: fired.append("due"))
    clock.set_wall_ms(9_000_000)
    clock.advance(99)
    assert (clock.monotonic_ms(), clock.now_ms(), fired) == (99.0, 9_000_099, [])


def test_timers_fire_at_their_moment_in_order_of_moment_then_of_scheduling(
    clock: ManualClock, timers: ManualTimers
) -> None:
    fired: list[tuple[str, float]] = []
    for name, delay_ms in (("late", 30), ("early", 10), ("tie 1", 20), ("tie 2", 20), ("beyond", 31)):
        timers.after(delay_ms, lambda name=name: fired.append((name, clock.monotonic_ms())))  # type: ignore[misc]
    clock.advance(30)
    assert fired == [("early", 10.0), ("tie 1", 20.0), ("tie 2", 20.0), ("late", 30.0)]


def test_a_timer_set_by_a_timer_fires_in_the_same_advance(clock: ManualClock, timers: ManualTimers) -> None:
    fired: list[float] = []

    def again() -> None:
        timers.after(5, lambda: fired.append(clock.monotonic_ms()))

    timers.after(10, again)
    clock.advance(20)
    assert fired == [15.0]


def test_nothing_fires_within_after_itself(clock: ManualClock, timers: ManualTimers) -> None:
    fired: list[str] = []
    timers.after(0, lambda: fired.append("now"))
    timers.after(-5, lambda: fired.append("past"))
    assert fired == []
    clock.advance(0)
    assert fired == ["now", "past"]


def test_cancelled_timers_do_not_fire_and_may_be_cancelled_again(clock: ManualClock, timers: ManualTimers) -> None:
    fired: list[str] = []
    handle = timers.after(10, lambda: fired.append("cancelled"))
    timers.after(5, handle.cancel)
    clock.advance(20)
    handle.cancel()
    assert fired == []


def test_a_series_keeps_its_grid_until_cancelled(clock: ManualClock, timers: ManualTimers) -> None:
    fired: list[float] = []
    handle = timers.every(10, lambda: fired.append(clock.monotonic_ms()))
    clock.advance(35)
    handle.cancel()
    clock.advance(35)
    assert fired == [10.0, 20.0, 30.0]


def test_a_series_can_end_itself(clock: ManualClock, timers: ManualTimers) -> None:
    fired: list[int] = []

    def tick() -> None:
        fired.append(len(fired))
        if len(fired) == 2:
            handle.cancel()

    handle = timers.every(10, tick)
    clock.advance(100)
    assert fired == [0, 1]


def test_a_series_survives_a_callback_that_raises(clock: ManualClock, timers: ManualTimers) -> None:
    calls: list[float] = []

    def tick() -> None:
        calls.append(clock.monotonic_ms())
        raise RuntimeError("broken callback")

    timers.every(10, tick)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="broken callback"):
            clock.advance(10)
    assert calls == [10.0, 20.0]


def test_two_sets_of_timers_share_one_clock_in_order(clock: ManualClock) -> None:
    first, second = ManualTimers(clock), ManualTimers(clock)
    fired: list[str] = []
    second.after(10, lambda: fired.append("second"))
    first.after(10, lambda: fired.append("first"))
    second.after(5, lambda: fired.append("earlier"))
    clock.advance(10)
    assert fired == ["earlier", "first", "second"]


async def test_loop_timers_fire_once_and_in_series() -> None:
    timers = LoopTimers(asyncio.get_running_loop())
    done = asyncio.Event()
    ticks: list[int] = []

    def tick() -> None:
        ticks.append(len(ticks))
        if len(ticks) == 3:
            series.cancel()
            done.set()

    series = timers.every(1, tick)
    never = timers.after(2, lambda: ticks.append(100))
    never.cancel()
    async with asyncio.timeout(10):
        await done.wait()
    assert ticks == [0, 1, 2]


async def test_loop_timers_skip_what_a_stalled_loop_missed() -> None:
    timers = LoopTimers(asyncio.get_running_loop())
    ticks: list[float] = []
    series = timers.every(10, lambda: ticks.append(time.monotonic()))
    time.sleep(0.2)
    await asyncio.sleep(0.004)
    series.cancel()
    assert len(ticks) <= 2


def breaks() -> None:
    raise ZeroDivisionError


async def test_loop_timers_hand_failures_over(caplog: pytest.LogCaptureFixture) -> None:
    errors: list[Exception] = []
    timers = LoopTimers(asyncio.get_running_loop(), errors.append)
    timers.after(0, breaks)
    with caplog.at_level(logging.ERROR):
        async with asyncio.timeout(10):
            while not errors:
                await asyncio.sleep(0)
    assert isinstance(errors[0], ZeroDivisionError)
    assert not caplog.records
