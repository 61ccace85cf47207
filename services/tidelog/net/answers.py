"""The answers of one connection: in the order of the requests, however late some of them are known."""

from __future__ import annotations

from collections import deque
from time import perf_counter_ns
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.net.outbox import Part
    from tidelog.net.served import RequestContext

    Send = Callable[[tuple[Part, ...], RequestContext | None], None]


class Slot:
    """The place of an answer that is not known yet. It is filled once, with parts, with nothing, or with a close."""

    __slots__ = ("_answers", "closes", "parts", "request")

    def __init__(self, answers: AnswerQueue, request: RequestContext | None = None) -> None:
        self._answers = answers
        self.request = request
        self.parts: tuple[Part, ...] | None = None
        self.closes = False

    @property
    def is_filled(self) -> bool:
        return self.parts is not None

    def fill(self, *parts: Part) -> None:
        """Answer with these, one after the other; without any the request gets no answer."""
        assert self.parts is None, "an answer is given once"
        self.parts = parts
        now_ns = perf_counter_ns()
        if self.request is not None:
            self.request.ready_ns = now_ns
        self._answers.on_filled(self, now_ns)

    def close(self) -> None:
        """Close the connection where the answer would have been."""
        self.closes = True
        self.fill()


class AnswerQueue:
    """Passes answers on in order; or, for a peer that goes by correlation ids alone, as soon as they are known."""

    __slots__ = ("_close", "_is_closed", "_ordered", "_send", "_slots", "_unordered", "waiting")

    def __init__(self, send: Send, close: Callable[[], None], *, ordered: bool = True) -> None:
        self._send = send
        self._close = close
        self._ordered = ordered
        self._slots: deque[Slot] = deque()
        self._unordered = 0
        self._is_closed = False
        # Requests whose answers have not been passed on.
        self.waiting = 0

    def answer(self, parts: tuple[Part, ...], request: RequestContext | None = None) -> None:
        """The answer to the newest request, known at once."""
        if self._slots:
            slot = Slot(self, request)
            slot.parts = parts
            self._slots.append(slot)
            self.waiting += 1
        else:
            self._send(parts, request)

    def defer(self, request: RequestContext | None = None) -> Slot:
        slot = Slot(self, request)
        self.waiting += 1
        if self._ordered:
            self._slots.append(slot)
        else:
            self._unordered += 1
        return slot

    def close_after_all(self) -> None:
        """Close once everything asked so far is answered."""
        if not self.waiting:
            self._end()
            return
        last = Slot(self)
        last.parts, last.closes = (), True
        self._slots.append(last)
        self.waiting += 1

    def on_filled(self, slot: Slot, now_ns: int) -> None:
        if not self._ordered:
            self._unordered -= 1
            self._pass_on(slot, now_ns)
        slots = self._slots
        while slots and slots[0].is_filled and not self._unordered:
            self._pass_on(slots.popleft(), now_ns)

    def _pass_on(self, slot: Slot, now_ns: int) -> None:
        assert slot.parts is not None
        if self._is_closed:
            return
        self.waiting -= 1
        request = slot.request
        if request is not None:
            request.passed_on_ns = now_ns
        if slot.closes:
            self._end()
        elif slot.parts:
            self._send(slot.parts, request)
        elif request is not None:
            request.counts.on_answered(request, now_ns)

    def _end(self) -> None:
        """Nothing is said after this, also by slots that are filled later."""
        self._is_closed = True
        self._slots.clear()
        self.waiting = 0
        self._close()
