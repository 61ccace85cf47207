"""The process's own life: starting, serving, stopping, failing."""

import asyncio
import logging

import pytest

from tidelog.runtime.background import Background, suspended_at
from tidelog.runtime.faults import StartupError
from tidelog.runtime.process import Process


async def run(process: Process, serve: object) -> None:
    async with asyncio.timeout(10):
        await process.run(serve)  # type: ignore[arg-type]


async def test_serve_unwinds_by_itself_after_a_stop() -> None:
    started: list[str] = []
    process = Process("broker", on_started=lambda: started.append("started"))
    unwound: list[str] = []

    async def serve(process: Process) -> None:
        asyncio.get_running_loop().call_soon(process.stop, "test")
        try:
            await process.stopped()
            unwound.append("normally")
        finally:
            unwound.append("finally")

    await run(process, serve)
    assert (started, unwound, process.failed) == (["started"], ["normally", "finally"], False)


async def test_a_stop_during_start_up_cancels_it() -> None:
    process = Process("broker")
    unwound: list[str] = []

    async def serve(process: Process) -> None:
        asyncio.get_running_loop().call_soon(process.stop, "test")
        try:
            await asyncio.Event().wait()
        finally:
            unwound.append("finally")

    await run(process, serve)
    assert (process.started, unwound, process.failed) == (False, ["finally"], False)


async def test_a_task_that_waits_for_the_stop_is_not_the_end_of_start_up() -> None:
    process = Process("broker")

    async def waits() -> None:
        await process.stopped()

    async def serve(process: Process) -> None:
        process.spawn(waits(), "waits")
        await asyncio.sleep(0)
        process.stop("test")
        await asyncio.Event().wait()

    await run(process, serve)
    assert not process.started


async def test_a_stop_before_serve_began_still_stops_it() -> None:
    process = Process("broker")
    process.stop("early")

    async def serve(process: Process) -> None:
        await asyncio.Event().wait()

    await run(process, serve)
    assert not process.failed


async def test_waiting_for_a_stop_beside_something_else_counts_as_started() -> None:
    process = Process("broker")
    order: list[str] = []

    async def serve(process: Process) -> None:
        asyncio.get_running_loop().call_soon(process.stop, "test")
        await asyncio.wait([asyncio.ensure_future(process.stopped())])
        order.append("unwound")

    await run(process, serve)
    assert order == ["unwound"]


async def test_a_background_task_that_fails_stops_the_process(caplog: pytest.LogCaptureFixture) -> None:
    process = Process("broker")

    async def breaks() -> None:
        raise RuntimeError("cleaner broke")

    async def serve(process: Process) -> None:
        process.spawn(breaks(), "cleaner")
        await process.stopped()

    with caplog.at_level(logging.ERROR):
        await run(process, serve)
    assert process.failed
    assert "background task 'cleaner' failed" in caplog.text
    assert "RuntimeError: cleaner broke" in caplog.text


async def test_background_tasks_end_after_serve_has_unwound() -> None:
    process = Process("broker")
    order: list[str] = []

    async def works() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            order.append("task ended")

    async def ends_by_itself() -> None:
        order.append("short task")

    async def serve(process: Process) -> None:
        process.spawn(works(), "works")
        process.spawn(ends_by_itself(), "short")
        asyncio.get_running_loop().call_later(0.001, process.stop, "test")
        await process.stopped()
        order.append("serve unwound")

    await run(process, serve)
    assert order == ["short task", "serve unwound", "task ended"]
    assert (process.failed, process.pending()) == (False, ())


async def test_an_inner_context_ends_its_tasks_before_outer_ones_close() -> None:
    process = Process("broker")
    order: list[str] = []

    async def uses() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            order.append("user ended")

    async def serve(process: Process) -> None:
        try:
            async with process.background() as tasks:
                tasks.spawn(uses(), "user")
                asyncio.get_running_loop().call_later(0.001, process.stop, "test")
                await process.stopped()
        finally:
            order.append("resource closed")

    await run(process, serve)
    assert order == ["user ended", "resource closed"]


async def test_what_breaks_while_stopping_is_logged_but_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    process = Process("broker")

    async def breaks_late() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("socket is closed")

    async def serve(process: Process) -> None:
        process.spawn(breaks_late(), "fetcher")
        asyncio.get_running_loop().call_later(0.001, process.stop, "test")
        await process.stopped()

    with caplog.at_level(logging.ERROR):
        await run(process, serve)
    assert not process.failed
    assert "socket is closed" in caplog.text


async def test_what_serve_raises_comes_out_after_background_tasks_ended() -> None:
    process = Process("broker")

    async def serve(process: Process) -> None:
        process.spawn(asyncio.Event().wait(), "waits")
        await asyncio.sleep(0)
        raise StartupError("cannot listen")

    with pytest.raises(StartupError, match="cannot listen"):
        await run(process, serve)
    assert process.pending() == ()


def breaks() -> None:
    raise ZeroDivisionError


async def test_a_timer_that_fails_stops_the_process(caplog: pytest.LogCaptureFixture) -> None:
    process = Process("broker")

    async def serve(process: Process) -> None:
        process.timers.after(0, breaks)
        await process.stopped()

    with caplog.at_level(logging.ERROR):
        await run(process, serve)
    assert process.failed
    assert "ZeroDivisionError" in caplog.text


async def test_readiness_is_logged_with_reasons(caplog: pytest.LogCaptureFixture) -> None:
    process = Process("broker")
    process.readiness.expect("registered", "waiting for ZooKeeper")
    with caplog.at_level(logging.INFO, "tidelog"):
        process.readiness.ok("registered")
        process.readiness.not_ready("registered", "session lost")
    assert [record.getMessage() for record in caplog.records] == ["ready", "not ready"]
    assert caplog.records[1].__dict__["fields"] == {"registered": "session lost"}


async def test_hanging_tasks_tell_where() -> None:
    async def innermost() -> None:
        await asyncio.Event().wait()

    async def outer() -> None:
        await innermost()

    failures: list[str] = []
    async with Background(lambda name, error: failures.append(name)) as tasks:
        task = tasks.spawn(outer(), "hangs")
        await asyncio.sleep(0)
        place = suspended_at(task)
    assert "Event.wait" in place
    assert ".py:" in place
    assert failures == []
