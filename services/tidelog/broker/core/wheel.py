"""Any number of timeouts on one outer timer: a hierarchical timing wheel, and the Timers that run on it.

Level 0 has one slot per millisecond, level 1 one per 64 ms, level 2 one per 4096 ms, and so on. A moment lives on the
level of the highest digit (in base 64) in which it differs from the present, in the slot of that digit. So the slots in
use on a level all lie ahead of the present one, everything on a level falls due before anything on the next, and the
first slot in use of the first level in use is the next moment at which there is something to do: on level 0 its
entries are due, above that they move down. Adding and cancelling cost the same however many timeouts there are.
"""

from math import ceil
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

_BITS = 6
_SLOTS = 1 << _BITS
_MASK = _SLOTS - 1
# Eleven digits of six bits hold every 64-bit number, so no delay that a request can name is too long.
_LEVELS = 11
_NOWHERE = -1


class Cancellable(Protocol):
    """What `after` gives back."""

    def cancel(self) -> None: ...


class OuterTimers(Protocol):
    """Where the one outer timer comes from: runtime.timers has it for a process and for tests."""

    def after(self, delay_ms: float, callback: "Callable[[], None]") -> Cancellable: ...


class Timeout:
    """One callback at one moment; cancelling is allowed at any time and more than once."""

    __slots__ = ("_wheel", "callback", "due_ms", "slot")

    def __init__(self, wheel: "TimingWheel", due_ms: int, callback: "Callable[[], None]") -> None:
        self._wheel = wheel
        self.due_ms = due_ms
        self.callback: Callable[[], None] | None = callback
        self.slot = _NOWHERE

    def cancel(self) -> None:
        # What it would have called may hold much more than this object does.
        self.callback = None
        if self.slot != _NOWHERE:
            self._wheel.remove(self)


class TimingWheel:
    """The slots, and how far time has come. It holds no timer and reads no clock."""

    __slots__ = ("_in_use", "_slots", "now_ms", "size")

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self.size = 0
        # A dict is the set that keeps order and gives up any member at once.
        self._slots: list[dict[Timeout, None]] = [{} for _ in range(_LEVELS * _SLOTS)]
        self._in_use = [0] * _LEVELS

    def add(self, due_ms: int, callback: "Callable[[], None]") -> Timeout:
        """Something that `advance` will give back once this moment is reached; a past one is the next millisecond."""
        timeout = Timeout(self, due_ms if due_ms > self.now_ms else self.now_ms + 1, callback)
        self.size += 1
        self._place(timeout)
        return timeout

    def remove(self, timeout: Timeout) -> None:
        slot = timeout.slot
        timeout.slot = _NOWHERE
        self.size -= 1
        members = self._slots[slot]
        del members[timeout]
        if not members:
            self._in_use[slot >> _BITS] &= ~(1 << (slot & _MASK))

    def next_ms(self) -> int | None:
        """The moment at which `advance` has work: something is due then, or has to be looked at more closely."""
        for level, in_use in enumerate(self._in_use):
            if in_use:
                return self._start_of(level, in_use)
        return None

    def advance(self, now_ms: int) -> list[Timeout]:
        """Everything that is due by now, earliest first. Cancelled ones are not among them, unless cancelled later."""
        due: list[Timeout] = []
        while (moment := self.next_ms()) is not None and moment <= now_ms:
            self.now_ms = moment
            self._empty_slot(due)
        self.skip_to(now_ms)
        return due

    def skip_to(self, now_ms: int) -> None:
        """Time has come this far; the caller knows that nothing falls due until then."""
        if now_ms > self.now_ms:
            self.now_ms = now_ms

    def _place(self, timeout: Timeout) -> None:
        due_ms = timeout.due_ms
        level = ((due_ms ^ self.now_ms).bit_length() - 1) // _BITS
        digit = (due_ms >> (level * _BITS)) & _MASK
        timeout.slot = slot = (level << _BITS) | digit
        members = self._slots[slot]
        if not members:
            self._in_use[level] |= 1 << digit
        members[timeout] = None

    def _start_of(self, level: int, in_use: int) -> int:
        digit = (in_use & -in_use).bit_length() - 1
        shift = level * _BITS
        return (self.now_ms >> (shift + _BITS) << (shift + _BITS)) | (digit << shift)

    def _empty_slot(self, due: list[Timeout]) -> None:
        """Take what is in the first slot in use, whose start is the present: it is due, or belongs further down."""
        level = next(level for level, in_use in enumerate(self._in_use) if in_use)
        in_use = self._in_use[level]
        slot = (level << _BITS) | ((in_use & -in_use).bit_length() - 1)
        self._in_use[level] = in_use & (in_use - 1)
        members, self._slots[slot] = self._slots[slot], {}
        for timeout in members:
            if timeout.due_ms <= self.now_ms:
                timeout.slot = _NOWHERE
                self.size -= 1
                due.append(timeout)
            else:
                self._place(timeout)


class WheelTimers:
    """`after` for very many callbacks that are mostly cancelled; they fire never early and about a millisecond late."""

    def __init__(self, timers: OuterTimers, monotonic_ms: "Callable[[], float]") -> None:
        self._timers = timers
        self._monotonic_ms = monotonic_ms
        self._wheel = TimingWheel(int(monotonic_ms()))
        self._armed: Cancellable | None = None
        self._armed_for_ms = 0
        self._due: list[Timeout] = []

    @property
    def size(self) -> int:
        """How many callbacks are waiting."""
        return self._wheel.size

    def after(self, delay_ms: float, callback: "Callable[[], None]") -> Timeout:
        """Call once, `delay_ms` from now; a delay of zero or less means soon, never within this call."""
        now_ms = self._monotonic_ms()
        wheel = self._wheel
        # Placed against the true present it needs to move down less often, and the timer goes off less often.
        if self._armed is None or now_ms < self._armed_for_ms:
            wheel.skip_to(int(now_ms))
        timeout = wheel.add(ceil(now_ms + delay_ms), callback)
        if self._armed is None or timeout.due_ms < self._armed_for_ms:
            self._arm(now_ms)
        return timeout

    def _arm(self, now_ms: float) -> None:
        next_ms = self._wheel.next_ms()
        if next_ms is not None:
            self._arm_for(next_ms, now_ms)

    def _arm_for(self, next_ms: int, now_ms: float) -> None:
        if self._armed is not None:
            self._armed.cancel()
        self._armed_for_ms = next_ms
        # A loop's own notion of now lags: it may call a little early, and must not be asked again in no time.
        self._armed = self._timers.after(max(1.0, next_ms - now_ms), self._fire)

    def _fire(self) -> None:
        now_ms = self._monotonic_ms()
        self._armed = None
        due = self._due + self._wheel.advance(int(now_ms))
        self._due = []
        self._arm(now_ms)
        for number, timeout in enumerate(due):
            callback = timeout.callback
            if callback is not None:
                timeout.callback = None
                try:
                    callback()
                except BaseException:
                    # Whoever sees the error decides what becomes of the process; the others' time comes all the same.
                    self._due = due[number + 1 :]
                    self._arm_for(int(now_ms), now_ms)
                    raise
