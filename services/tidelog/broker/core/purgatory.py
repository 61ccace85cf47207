"""Requests that wait: delayed operations, watched under keys, completed exactly once by an event or by their timeout.

An operation is pending from `try_complete_else_watch` until it completes, and it completes once: because what it waits
for has come (`can_complete`), because somebody forces it, or because its time is over. Whoever changes what operations
may wait for calls `wake(key)`. All wakes of one turn of the event loop are answered together in the next, each key once
however often it was woken, and a key that nobody watches costs one look into a dict.

Nothing else runs between a look at `can_complete` and the entry under the keys, so a second look, which Kafka's threads
need, is not needed here. Completing takes an operation out of the list that was looked at; under its other keys it
stays until these are looked at too, or until such remains are more than `purge_interval` and more than what is pending:
then the reaper drops them all.
"""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from tidelog.broker.core.wheel import Cancellable, OuterTimers

K = TypeVar("K", bound="Hashable")


class _Completions(Protocol):
    """Who is told that an operation completed."""

    def on_completed(self, watched_keys: int) -> None: ...


class DelayedOperation(ABC, Generic[K]):
    """Something that is answered later. Subclasses say when, and what then."""

    __slots__ = ("_timeout", "_watched_by", "_watched_keys", "is_completed")

    def __init__(self) -> None:
        self.is_completed = False
        self._watched_by: _Completions | None = None
        self._watched_keys = 0
        self._timeout: Cancellable | None = None

    @abstractmethod
    def can_complete(self, woken: K | None) -> bool:
        """Is it satisfied? `woken` is the key under which something happened, None for the first look at all of it."""

    @abstractmethod
    def on_complete(self, *, expired: bool) -> None:
        """It is over; called once. It may wake keys and start other operations."""

    def try_complete(self, woken: K | None = None) -> bool:
        """Complete it if it is satisfied; true if this call did it."""
        return not self.is_completed and self.can_complete(woken) and self.force_complete()

    def force_complete(self, *, expired: bool = False) -> bool:
        """Complete it whatever it waits for; true if this call did it."""
        if self.is_completed:
            return False
        self.is_completed = True
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None
        if self._watched_by is not None:
            self._watched_by.on_completed(self._watched_keys)
        self.on_complete(expired=expired)
        return True

    def expire(self) -> None:
        """Its time is over."""
        self.force_complete(expired=True)

    def on_watched(self, purgatory: _Completions, watched_keys: int, timeout: "Cancellable") -> None:
        """It is pending from now on."""
        self._watched_by = purgatory
        self._watched_keys = watched_keys
        self._timeout = timeout


class Purgatory(Generic[K]):
    """The pending operations of one kind. Keys are hashed at every wake: an object that hashes by identity is best."""

    def __init__(
        self,
        timers: "OuterTimers",
        call_soon: "Callable[[Callable[[], None]], object]",
        purge_interval: int = 1000,
    ) -> None:
        """`call_soon` runs a callback in the next turn of the event loop."""
        self._timers = timers
        self._call_soon = call_soon
        self._purge_interval = purge_interval
        self._watchers: dict[K, list[DelayedOperation[K]]] = {}
        self._woken: dict[K, None] = {}
        self._reaping_is_due = False
        # How many operations wait, and how many entries under keys there are, of which some are of completed ones.
        self.pending = 0
        self.watched = 0
        self._remains = 0

    def try_complete_else_watch(
        self, operation: DelayedOperation[K], keys: "Sequence[K]", timeout_ms: float, *, already_tried: bool = False
    ) -> bool:
        """True if it was satisfied at once; else it waits under these keys until one is woken or the time is over.

        `already_tried` says that the caller has just found out that it is not satisfied.
        """
        if not already_tried and operation.try_complete():
            return True
        watchers = self._watchers
        for key in keys:
            watching = watchers.get(key)
            if watching is None:
                watchers[key] = [operation]
            else:
                watching.append(operation)
        self.pending += 1
        self.watched += len(keys)
        operation.on_watched(self, len(keys), self._timers.after(timeout_ms, operation.expire))
        return False

    def wake(self, key: K) -> None:
        """Something happened that operations under this key may wait for; they are looked at in the next turn."""
        if key in self._watchers:
            if not self._woken:
                self._call_soon(self._check_woken)
            self._woken[key] = None

    def wake_all(self) -> None:
        """Look at every operation, for example because the broker's view of the cluster changed."""
        for key in self._watchers:
            self.wake(key)

    def is_watched(self, key: K) -> bool:
        return key in self._watchers

    def on_completed(self, watched_keys: int) -> None:
        """One of ours completed; its entries are remains until somebody passes by."""
        self.pending -= 1
        self._remains += watched_keys
        # Looking at everything must pay: what is dropped is at least half of what is looked at.
        if self._remains > self._purge_interval and self._remains * 2 > self.watched and not self._reaping_is_due:
            self._reaping_is_due = True
            self._call_soon(self._reap)

    def _check_woken(self) -> None:
        # What is woken from here on is looked at in the next turn: it may concern what was already looked at.
        woken, self._woken = self._woken, {}
        while woken:
            key = next(iter(woken))
            del woken[key]
            try:
                self._check(key)
            except BaseException:
                # Whoever sees the error decides what becomes of the process; the other keys are not forgotten.
                for left in woken:
                    self.wake(left)
                raise

    def _check(self, key: K) -> None:
        watching = self._watchers.get(key)
        if watching is None:
            return
        has_remains = False
        # Completing may add operations under this key, at the end of this very list. They have just been looked at.
        for operation in watching[:]:
            if operation.is_completed or (operation.can_complete(key) and operation.force_complete()):
                has_remains = True
        if has_remains:
            self._drop_remains(key, watching)

    def _reap(self) -> None:
        self._reaping_is_due = False
        for key, watching in list(self._watchers.items()):
            self._drop_remains(key, watching)

    def _drop_remains(self, key: K, watching: "list[DelayedOperation[K]]") -> None:
        left = [operation for operation in watching if not operation.is_completed]
        dropped = len(watching) - len(left)
        if dropped:
            self.watched -= dropped
            self._remains -= dropped
            if left:
                self._watchers[key] = left
            else:
                del self._watchers[key]
