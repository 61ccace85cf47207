"""The link to a coordinator: everybody is told once, within bounds of time and memory."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tidelog.broker.shell import coordinator_link
from tidelog.broker.shell.coordinator_link import LONG_WAIT_MS, Asked, CoordinatorLink
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import Endpoint
from tidelog.kafka.wire.primitives import MalformedMessage
from tidelog.net.connection import Connection
from tidelog.runtime.clock import ManualClock

REQUEST_TIMEOUT_MS = 30_000


class Line:
    """A connection that the test holds the other end of."""

    def __init__(self) -> None:
        self.sent: dict[int, tuple[Callable[[memoryview], None], bytes]] = {}
        self._lost = asyncio.Event()

    @property
    def is_open(self) -> bool:
        return not self._lost.is_set()

    def post(self, correlation_id: int, on_answer: Callable[[memoryview], None], frame: bytes) -> None:
        self.sent[correlation_id] = (on_answer, frame)

    def answer(self, correlation_id: int, answer: bytes = b"answer") -> None:
        self.sent[correlation_id][0](memoryview(answer))

    async def closed(self) -> None:
        await self._lost.wait()

    def close(self) -> None:
        self._lost.set()


class Told(Asked):
    """Notes what it is told."""

    __slots__ = ("is_gone", "told")

    def __init__(self) -> None:
        super().__init__()
        self.told: list[object] = []
        self.is_gone = False

    @property
    def is_abandoned(self) -> bool:
        return self.is_gone

    def answered(self, frame: memoryview) -> None:
        if bytes(frame) == b"nonsense":
            raise MalformedMessage("nonsense")
        self.told.append(bytes(frame))

    def refused(self, code: KafkaCode) -> None:
        self.told.append(code)


class Wire:
    """A link, and the lines that it opens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = ManualClock()
        self.lines: list[Line] = []
        self.is_refused = False
        self._tasks: list[asyncio.Task[Any]] = []
        monkeypatch.setattr(Connection, "open", self._open)
        endpoint = Endpoint("PLAINTEXT", "host", 1)
        self.link = CoordinatorLink(5, endpoint, "1", REQUEST_TIMEOUT_MS, self.clock, self._spawn)

    def ask(self, frame: bytes = b"frame", *, waits_long: bool = False) -> Told:
        asked = Told()
        self.link.ask(asked, self.link.next_correlation_id(), frame, waits_long=waits_long)
        return asked

    async def _open(self, *_: object, **__: object) -> Line:
        await asyncio.sleep(0)
        if self.is_refused:
            raise ConnectionRefusedError("nobody there")
        self.lines.append(Line())
        return self.lines[-1]

    def _spawn(self, coroutine: Coroutine[Any, Any, None], _: str) -> asyncio.Task[Any]:
        self._tasks.append(asyncio.create_task(coroutine))
        return self._tasks[-1]


async def turns() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


@pytest.fixture
async def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    return Wire(monkeypatch)


async def test_answers_come_in_any_order(wire: Wire) -> None:
    first, second = wire.ask(b"one"), wire.ask(b"two")
    await turns()
    (line,) = wire.lines
    assert [frame for _, frame in line.sent.values()] == [b"one", b"two"]
    third = wire.ask(b"three")
    line.answer(3, b"3")
    line.answer(2, b"2")
    line.answer(1, b"1")
    assert [one.told for one in (first, second, third)] == [[b"1"], [b"2"], [b"3"]]
    assert wire.link.waiting == 0


async def test_what_was_sent_when_the_connection_breaks_is_refused_with_16(wire: Wire) -> None:
    short, long = wire.ask(), wire.ask(waits_long=True)
    await turns()
    wire.lines[0].close()
    await turns()
    assert short.told == long.told == [KafkaCode.NOT_COORDINATOR]
    wire.lines[0].answer(1)
    assert short.told == [KafkaCode.NOT_COORDINATOR]


async def test_without_a_connection_it_is_refused_with_15_and_tried_again_after_a_moment(wire: Wire) -> None:
    wire.is_refused = True
    waiting = wire.ask()
    await turns()
    at_once = wire.ask()
    assert waiting.told == at_once.told == [KafkaCode.COORDINATOR_NOT_AVAILABLE]
    wire.is_refused = False
    wire.clock.advance(200)
    again = wire.ask()
    await turns()
    wire.lines[0].answer(3)
    assert again.told == [b"answer"]


async def test_a_broken_connection_is_opened_again(wire: Wire) -> None:
    wire.ask()
    await turns()
    wire.lines[0].close()
    await turns()
    wire.clock.advance(200)
    again = wire.ask()
    await turns()
    wire.lines[1].answer(2)
    assert again.told == [b"answer"]


async def test_who_waits_too_long_is_refused_and_a_late_answer_is_dropped(wire: Wire) -> None:
    short, long = wire.ask(), wire.ask(waits_long=True)
    await turns()
    wire.clock.advance(REQUEST_TIMEOUT_MS - 1)
    later = wire.ask()
    wire.link.sweep()
    assert short.told == []
    wire.clock.advance(1)
    wire.link.sweep()
    assert (short.told, long.told, later.told) == ([KafkaCode.COORDINATOR_NOT_AVAILABLE], [], [])
    wire.lines[0].answer(1)
    assert len(short.told) == 1
    wire.clock.advance(LONG_WAIT_MS)
    wire.link.sweep()
    assert long.told == [KafkaCode.COORDINATOR_NOT_AVAILABLE]
    assert wire.link.waiting == 0


async def test_a_member_that_went_away_is_not_kept(wire: Wire) -> None:
    gone, stays = wire.ask(waits_long=True), wire.ask(waits_long=True)
    await turns()
    gone.is_gone = True
    wire.link.sweep()
    assert (wire.link.waiting, gone.frame, gone.told, stays.told) == (1, b"", [], [])
    wire.lines[0].answer(1)
    assert gone.told == []


async def test_what_is_under_way_is_bounded(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator_link, "_BYTES_MAX", 10)
    first, too_much = wire.ask(b"12345678"), wire.ask(b"123")
    assert (first.told, too_much.told) == ([], [KafkaCode.COORDINATOR_NOT_AVAILABLE])
    await turns()
    wire.lines[0].answer(1)
    assert wire.ask(b"1234567890").told == []


async def test_an_answer_that_makes_no_sense_is_a_refusal(wire: Wire) -> None:
    asked = wire.ask()
    await turns()
    with pytest.raises(MalformedMessage):
        wire.lines[0].answer(1, b"nonsense")
    assert asked.told == [KafkaCode.NOT_COORDINATOR]


async def test_closing_tells_everybody(wire: Wire) -> None:
    sent = wire.ask()
    await turns()
    wire.link.close()
    await turns()
    assert sent.told == [KafkaCode.NOT_COORDINATOR]
    assert not wire.lines[0].is_open


async def test_closing_while_it_opens(wire: Wire) -> None:
    waiting = wire.ask()
    await asyncio.sleep(0)
    wire.link.close()
    await turns()
    assert waiting.told == [KafkaCode.COORDINATOR_NOT_AVAILABLE]
