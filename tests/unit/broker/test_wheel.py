"""The timing wheel: due when it should be, one outer timer, nothing left behind (semantics, section 5)."""

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tidelog.broker.core.wheel import Timeout, TimingWheel, WheelTimers
from tidelog.runtime.clock import ManualClock
from tidelog.runtime.timers import ManualTimers, TimerHandle


def nothing() -> None:
    """What is scheduled does not matter here."""


class CountingTimers(ManualTimers):
    """Counts the outer timers that are started."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.started = 0

    def after(self, delay_ms: float, callback: Callable[[], None]) -> TimerHandle:
        self.started += 1
        return super().after(delay_ms, callback)


class Fired(list[str]):
    def note(self, name: str) -> Callable[[], None]:
        return lambda: self.append(name)


def timers_at(monotonic_ms: float = 0.0) -> tuple[ManualClock, CountingTimers, WheelTimers]:
    clock = ManualClock(monotonic_ms=monotonic_ms)
    outer = CountingTimers(clock)
    return clock, outer, WheelTimers(outer, clock.monotonic_ms)


@pytest.mark.parametrize("delay", [1, 63, 64, 65, 500, 4095, 4096, 30_000, 300_000, 86_400_000, 1 << 40, 1 << 50])
def test_due_at_its_millisecond_and_not_before(delay: int) -> None:
    wheel = TimingWheel(now_ms=12_345)
    timeout = wheel.add(12_345 + delay, nothing)
    assert wheel.advance(12_345 + delay - 1) == []
    assert wheel.advance(12_345 + delay) == [timeout]
    assert wheel.size == 0
    assert wheel.next_ms() is None


def test_what_is_already_past_is_due_next() -> None:
    wheel = TimingWheel(now_ms=100)
    timeout = wheel.add(50, nothing)
    assert wheel.advance(100) == []
    assert wheel.advance(101) == [timeout]


def test_a_cancelled_one_leaves_its_slot_at_once() -> None:
    wheel = TimingWheel()
    timeouts = [wheel.add(delay, nothing) for delay in (5, 500, 50_000)]
    for timeout in timeouts:
        timeout.cancel()
        timeout.cancel()
    assert (wheel.size, wheel.next_ms()) == (0, None)


class WheelAgainstSortedList(RuleBasedStateMachine):
    """The wheel gives exactly what a sorted list of moments would give."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_003
        self.wheel = TimingWheel(self.now)
        self.model: list[Timeout] = []

    @rule(delay=st.one_of(st.integers(-5, 200), st.integers(0, 10_000), st.integers(0, 10_000_000)))
    def add(self, delay: int) -> None:
        self.model.append(self.wheel.add(self.now + delay, nothing))

    @rule(number=st.integers(0, 1000))
    def cancel(self, number: int) -> None:
        if self.model:
            self.model.pop(number % len(self.model)).cancel()

    @rule(delta=st.one_of(st.integers(0, 100), st.integers(0, 5_000), st.integers(0, 8_000_000)))
    def advance(self, delta: int) -> None:
        self.now += delta
        due = self.wheel.advance(self.now)
        expected = [timeout for timeout in self.model if timeout.due_ms <= self.now]
        assert [timeout.due_ms for timeout in due] == sorted(timeout.due_ms for timeout in expected)
        assert set(due) == set(expected)
        self.model = [timeout for timeout in self.model if timeout.due_ms > self.now]

    @invariant()
    def it_knows_when_to_be_asked_again(self) -> None:
        assert self.wheel.size == len(self.model)
        next_ms = self.wheel.next_ms()
        if self.model:
            assert next_ms is not None
            assert self.now < next_ms <= min(timeout.due_ms for timeout in self.model)
        else:
            assert next_ms is None


TestWheelAgainstSortedList = WheelAgainstSortedList.TestCase
TestWheelAgainstSortedList.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_timers_fire_in_order_never_early_and_at_most_a_millisecond_late() -> None:
    clock, _, timers = timers_at(0.4)
    moments: list[tuple[float, float]] = []
    for delay in (700.2, 3.0, 64.0, 5000.0, 3.3):
        wanted = clock.monotonic_ms() + delay
        timers.after(delay, lambda wanted=wanted: moments.append((wanted, clock.monotonic_ms())))  # type: ignore[misc]
    clock.advance(10_000)
    assert [wanted for wanted, _ in moments] == sorted(wanted for wanted, _ in moments)
    assert all(wanted <= fired <= wanted + 1.5 for wanted, fired in moments)
    assert len(moments) == 5


def test_very_many_cost_one_outer_timer() -> None:
    """10 000 parked fetches cost nothing while idle."""
    clock, outer, timers = timers_at()
    fired = Fired()
    for _ in range(10_000):
        timers.after(30_000, fired.note("expired"))
    assert outer.started == 1
    clock.advance(29_000)
    assert fired == []
    assert outer.started < 10
    clock.advance(2_000)
    assert len(fired) == 10_000


def test_an_earlier_one_moves_the_outer_timer() -> None:
    clock, _, timers = timers_at()
    fired = Fired()
    timers.after(1000, fired.note("late"))
    timers.after(10, fired.note("early"))
    clock.advance(11)
    assert fired == ["early"]
    clock.advance(1000)
    assert fired == ["early", "late"]


def test_a_late_outer_timer_loses_nothing() -> None:
    """The loop was busy: what was due in the meantime is still there when something is added."""
    now_ms, calls = [0.0], list[Callable[[], None]]()

    class Late:
        def after(self, delay_ms: float, callback: Callable[[], None]) -> TimerHandle:
            calls.append(callback)
            return ManualTimers(ManualClock()).after(0, nothing)

    timers = WheelTimers(Late(), lambda: now_ms[0])
    fired = Fired()
    timers.after(10, fired.note("first"))
    timers.after(100, fired.note("second"))
    now_ms[0] = 500.0
    timers.after(5, fired.note("third"))
    calls[-1]()
    assert fired == ["first", "second"]
    now_ms[0] = 505.0
    calls[-1]()
    assert fired == ["first", "second", "third"]


def test_cancelled_by_one_that_is_due_at_the_same_time() -> None:
    clock, _, timers = timers_at()
    fired = Fired()
    timeouts: list[Timeout] = []

    def cancel_the_other() -> None:
        timeouts[1].cancel()

    timeouts += [timers.after(10, cancel_the_other), timers.after(10, fired.note("never"))]
    clock.advance(20)
    assert fired == []
    assert timers.size == 0


def test_zero_delay_never_fires_within_the_call() -> None:
    clock, _, timers = timers_at()
    fired = Fired()
    timers.after(0, fired.note("soon"))
    assert fired == []
    clock.advance(2)
    assert fired == ["soon"]


def test_one_that_raises_does_not_cost_the_others_their_turn() -> None:
    clock, _, timers = timers_at()
    fired = Fired()

    def fail() -> None:
        raise ValueError("a bug")

    timers.after(10, fail)
    timers.after(10, fired.note("also due"))
    timers.after(50, fired.note("later"))
    with pytest.raises(ValueError, match="a bug"):
        clock.advance(20)
    clock.advance(100)
    assert fired == ["also due", "later"]
