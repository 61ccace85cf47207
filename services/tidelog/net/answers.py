"""The answers of one connection: in the order of the requests, however late some of them are known."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.net.outbox import Part


class Slot:
    """The place of an answer that is not known yet. It is filled once, with parts, with nothing, or with a close."""

    __slots__ = ("_answers", "closes", "parts")

    def __init__(self, answers: AnswerQueue) -> None:
        self._answers = answers
        self.parts: tuple[Part, ...] | None = None
        self.closes = False

    @property
    def is_filled(self) -> bool:
        return self.parts is not None

    def fill(self, *parts: Part) -> None:
        """Answer with these, one after the other; without any the request gets no answer."""
        assert self.parts is None, "an answer is given once"
        self.parts = parts
        self._answers.on_filled(self)

    def close(self) -> None:
        """Close the connection where the answer would have been."""
        self.closes = True
        self.fill()


class AnswerQueue:
    """Passes answers on in order; or, for a peer that goes by correlation ids alone, as soon as they are known."""

    __slots__ = ("_close", "_is_closed", "_ordered", "_send", "_slots", "_unordered")

    def __init__(
        self, send: Callable[[tuple[Part, ...]], None], close: Callable[[], None], *, ordered: bool = True
    ) -> None:
        self._send = send
        self._close = close
        self._ordered = ordered
        self._slots: deque[Slot] = deque()
        self._unordered = 0
        self._is_closed = False

    def __len__(self) -> int:
        """Requests whose answers have not been passed on."""
        return len(self._slots) + self._unordered

    def answer(self, parts: tuple[Part, ...]) -> None:
        """The answer to the newest request, known at once."""
        if self._slots:
            slot = Slot(self)
            slot.parts = parts
            self._slots.append(slot)
        else:
            self._send(parts)

    def defer(self) -> Slot:
        slot = Slot(self)
        if self._ordered:
            self._slots.append(slot)
        else:
            self._unordered += 1
        return slot

    def close_after_all(self) -> None:
        """Close once everything asked so far is answered."""
        if not self:
            self._end()
            return
        last = Slot(self)
        last.parts, last.closes = (), True
        self._slots.append(last)

    def on_filled(self, slot: Slot) -> None:
        if not self._ordered:
            self._unordered -= 1
            self._pass_on(slot)
        slots = self._slots
        while slots and slots[0].is_filled and not self._unordered:
            self._pass_on(slots.popleft())

    def _pass_on(self, slot: Slot) -> None:
        assert slot.parts is not None
        if self._is_closed:
            return
        if slot.closes:
            self._end()
        elif slot.parts:
            self._send(slot.parts)

    def _end(self) -> None:
        """Nothing is said after this, also by slots that are filled later."""
        self._is_closed = True
        self._slots.clear()
        self._close()
