"""Delayed operations: completed exactly once, never lost, never after their end (semantics, section 5)."""

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tidelog.broker.core.purgatory import DelayedOperation, Purgatory
from tidelog.broker.core.wheel import WheelTimers
from tidelog.runtime.clock import ManualClock
from tidelog.runtime.timers import ManualTimers


class Turns:
    """An event loop's call_soon, turned by hand."""

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] = []
        self.asked = 0

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.asked += 1
        self.calls.append(callback)

    def turn(self) -> None:
        calls, self.calls = self.calls, []
        for call in calls:
            call()

    def turn_all(self) -> None:
        while self.calls:
            self.turn()


class Waiting(DelayedOperation[str]):
    """Waits until it is told that it is satisfied."""

    def __init__(self, on_complete: Callable[[], None] | None = None) -> None:
        super().__init__()
        self.is_satisfied = False
        self.looks: list[str | None] = []
        self.ends: list[str] = []
        self._then = on_complete

    def can_complete(self, woken: str | None) -> bool:
        self.looks.append(woken)
        return self.is_satisfied

    def on_complete(self, *, expired: bool) -> None:
        self.ends.append("expired" if expired else "completed")
        if self._then is not None:
            self._then()


class World:
    def __init__(self, purge_interval: int = 1000) -> None:
        self.clock = ManualClock()
        self.turns = Turns()
        self.timers = WheelTimers(ManualTimers(self.clock), self.clock.monotonic_ms)
        self.purgatory: Purgatory[str] = Purgatory(self.timers, self.turns.call_soon, purge_interval)

    def park(self, *keys: str, timeout_ms: float = 500, operation: Waiting | None = None) -> Waiting:
        operation = operation or Waiting()
        assert not self.purgatory.try_complete_else_watch(operation, keys, timeout_ms)
        return operation

    def wake(self, *keys: str) -> None:
        for key in keys:
            self.purgatory.wake(key)
        self.turns.turn_all()


def test_satisfied_at_once_is_never_watched() -> None:
    world = World()
    operation = Waiting()
    operation.is_satisfied = True
    assert world.purgatory.try_complete_else_watch(operation, ["t-0"], 500)
    assert operation.ends == ["completed"]
    assert (world.purgatory.pending, world.purgatory.watched, world.timers.size) == (0, 0, 0)


def test_completed_by_a_wake_of_any_of_its_keys() -> None:
    world = World()
    operation = world.park("t-0", "t-1")
    world.wake("t-1")
    assert operation.ends == []
    operation.is_satisfied = True
    world.wake("t-1", "t-0")
    assert operation.ends == ["completed"]
    assert operation.looks == [None, "t-1", "t-1"]
    world.clock.advance(1000)
    assert operation.ends == ["completed"]
    assert (world.purgatory.pending, world.purgatory.watched, world.timers.size) == (0, 0, 0)


def test_expires_once_and_is_not_looked_at_again() -> None:
    world = World()
    operation = world.park("t-0")
    world.clock.advance(502)
    assert operation.ends == ["expired"]
    operation.is_satisfied = True
    world.wake("t-0")
    assert operation.ends == ["expired"]
    assert operation.looks == [None]
    assert world.purgatory.watched == 0


def test_forced_counts_as_completed() -> None:
    operation = World().park("t-0")
    assert operation.force_complete()
    assert not operation.force_complete()
    assert operation.ends == ["completed"]


def test_many_wakes_of_one_turn_are_one_look() -> None:
    world = World()
    operation = world.park("t-0")
    for _ in range(100):
        world.purgatory.wake("t-0")
    assert operation.looks == [None]
    assert world.turns.asked == 1
    world.turns.turn()
    assert operation.looks == [None, "t-0"]


def test_a_key_that_nobody_watches_does_not_bother_the_loop() -> None:
    world = World()
    world.purgatory.wake("t-0")
    assert world.turns.asked == 0


def test_completing_may_park_the_next_one_under_the_same_key() -> None:
    world = World()
    second = Waiting()

    def park_second() -> None:
        world.park("t-0", operation=second)

    first = world.park("t-0", operation=Waiting(park_second))
    first.is_satisfied = True
    world.wake("t-0")
    assert (first.ends, second.ends) == (["completed"], [])
    second.is_satisfied = True
    world.wake("t-0")
    assert second.ends == ["completed"]


def test_a_wake_from_within_a_completion_is_not_lost() -> None:
    """The first in the list is looked at, then the second's completion satisfies the first."""
    world = World()
    first = world.park("t-0")

    def satisfy_first() -> None:
        first.is_satisfied = True
        world.purgatory.wake("t-0")

    second = world.park("t-0", operation=Waiting(satisfy_first))
    second.is_satisfied = True
    world.wake("t-0")
    assert first.ends == ["completed"]


def test_one_that_raises_does_not_cost_other_keys_their_wake() -> None:
    def fail() -> None:
        raise ValueError("a bug")

    world = World()
    bad = world.park("t-0", operation=Waiting(fail))
    good = world.park("t-1")
    bad.is_satisfied = good.is_satisfied = True
    with pytest.raises(ValueError, match="a bug"):
        world.wake("t-0", "t-1")
    world.turns.turn_all()
    assert good.ends == ["completed"]


def test_the_reaper_drops_what_completed_under_other_keys() -> None:
    """Remains stay under keys that are not woken, until they are more than the purge interval and than the pending."""
    world = World(purge_interval=10)
    for _ in range(6):
        world.park("busy", "quiet").is_satisfied = True
        world.wake("busy")
    assert world.purgatory.watched == 6
    for _ in range(20):
        world.park("busy", "quiet").is_satisfied = True
        world.wake("busy")
    assert world.purgatory.watched <= 11
    assert world.purgatory.pending == 0


def test_the_reaper_does_not_run_for_a_few_among_many() -> None:
    world = World(purge_interval=10)
    for _ in range(100):
        world.park("quiet")
    for _ in range(90):
        world.park("busy", "quiet").is_satisfied = True
        world.wake("busy")
    assert world.purgatory.watched == 190
    for _ in range(20):
        world.park("busy", "quiet").is_satisfied = True
        world.wake("busy")
    assert world.purgatory.watched < 130


def test_remains_are_dropped_for_expired_ones_too() -> None:
    world = World(purge_interval=10)
    for _ in range(20):
        world.park("quiet")
    world.clock.advance(1000)
    world.turns.turn_all()
    assert world.purgatory.watched == 0


def test_wake_all_looks_at_everything() -> None:
    world = World()
    operations = [world.park(f"t-{number}") for number in range(5)]
    world.purgatory.wake_all()
    world.turns.turn_all()
    assert all(len(operation.looks) == 2 for operation in operations)


KEYS = ("a", "b", "c", "d")


class PurgatoryMachine(RuleBasedStateMachine):
    """Whatever happens in whatever order: each operation ends once, as soon as it can, and no later than its time."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(purge_interval=4)
        self.parked: list[tuple[Waiting, tuple[str, ...], float]] = []

    @rule(keys=st.lists(st.sampled_from(KEYS), min_size=1, unique=True), timeout_ms=st.integers(0, 300))
    def park(self, keys: list[str], timeout_ms: int) -> None:
        operation = self.world.park(*keys, timeout_ms=timeout_ms)
        self.parked.append((operation, tuple(keys), self.world.clock.monotonic_ms() + timeout_ms))

    @rule(number=st.integers(0, 100))
    def satisfy_and_wake_one_key(self, number: int) -> None:
        if self.parked:
            operation, keys, _ = self.parked[number % len(self.parked)]
            operation.is_satisfied = True
            self.world.purgatory.wake(keys[number % len(keys)])

    @rule(key=st.sampled_from(KEYS))
    def wake_for_nothing(self, key: str) -> None:
        self.world.purgatory.wake(key)

    @rule(number=st.integers(0, 100))
    def force(self, number: int) -> None:
        if self.parked:
            self.parked[number % len(self.parked)][0].force_complete()

    @rule(delta_ms=st.integers(0, 200))
    def pass_time(self, delta_ms: int) -> None:
        self.world.clock.advance(delta_ms)

    @rule()
    def turn(self) -> None:
        self.world.turns.turn_all()
        for operation, _, _ in self.parked:
            assert not operation.is_satisfied or operation.is_completed, "a satisfied and woken operation was lost"

    @invariant()
    def each_ends_once_and_in_time(self) -> None:
        now_ms = self.world.clock.monotonic_ms()
        for operation, _, due_ms in self.parked:
            assert len(operation.ends) == int(operation.is_completed)
            assert operation.is_completed or now_ms <= due_ms + 1.5
            if operation.ends == ["expired"]:
                assert now_ms >= due_ms

    @invariant()
    def nothing_is_left_behind(self) -> None:
        pending = [keys for operation, keys, _ in self.parked if not operation.is_completed]
        purgatory = self.world.purgatory
        assert purgatory.pending == self.world.timers.size == len(pending)
        assert purgatory.watched >= sum(map(len, pending))
        if not self.world.turns.calls:
            assert purgatory.watched <= sum(map(len, pending)) + max(4, sum(map(len, pending)))


TestPurgatoryMachine = PurgatoryMachine.TestCase
TestPurgatoryMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
