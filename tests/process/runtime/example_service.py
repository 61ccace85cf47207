"""A tiny service with one way of behaving for each thing that can happen to a process."""

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tidelog.kafka.configs.checks import at_least
from tidelog.kafka.configs.kinds import INT, STRING
from tidelog.kafka.configs.service import ServiceConfig
from tidelog.kafka.configs.setting import setting
from tidelog.runtime.faults import StartupError
from tidelog.runtime.grpc_edge import server
from tidelog.runtime.lifecycle import run_service
from tidelog.runtime.ops_http import OpsHttp
from tidelog.runtime.process import Process


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleConfig(ServiceConfig):
    """What the example does."""

    behaviour: str = setting("behaviour", STRING, "serve")
    count: int = setting("count", INT, 1, at_least(1))


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


@asynccontextmanager
async def resource(name: str) -> AsyncIterator[None]:
    say(f"open {name}")
    try:
        yield
    finally:
        say(f"close {name}")


async def serve(config: ExampleConfig, process: Process) -> None:
    async with resource("outer"), resource("inner"):
        await BEHAVIOURS[config.behaviour](config, process)


async def just_serve(config: ExampleConfig, process: Process) -> None:
    say("up")
    await process.stopped()


async def whole_service(config: ExampleConfig, process: Process) -> None:
    process.readiness.expect("served", "starting")
    async with (
        OpsHttp(config.ops_listener, process.pages),
        server(config.grpc_listener, [], [], process.readiness),
    ):
        process.readiness.ok("served")
        say("up")
        await process.stopped()


async def wait_in_start_up(config: ExampleConfig, process: Process) -> None:
    say("up")
    await asyncio.Event().wait()


async def hang_in_drain(config: ExampleConfig, process: Process) -> None:
    say("up")
    await process.stopped()
    await never_ends()


async def never_ends() -> None:
    await asyncio.Event().wait()


async def block_in_drain(config: ExampleConfig, process: Process) -> None:
    say("up")
    await process.stopped()
    time.sleep(60)


async def hang_in_a_thread(config: ExampleConfig, process: Process) -> None:
    asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)
    say("up")
    await process.stopped()


async def refuse_to_start(config: ExampleConfig, process: Process) -> None:
    raise StartupError("broker.id 1 is registered by another process; give this one another id")


async def refuse_in_a_group(config: ExampleConfig, process: Process) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(refuse_to_start(config, process))


async def crash(config: ExampleConfig, process: Process) -> None:
    raise RuntimeError("the example crashed")


async def crash_in_the_background(config: ExampleConfig, process: Process) -> None:
    async def task() -> None:
        await asyncio.sleep(0.05)
        raise RuntimeError("the task crashed")

    process.spawn(task(), "doomed")
    await process.stopped()


async def return_at_once(config: ExampleConfig, process: Process) -> None:
    say("done")


BEHAVIOURS = {
    "serve": just_serve,
    "whole": whole_service,
    "wait": wait_in_start_up,
    "hang": hang_in_drain,
    "block": block_in_drain,
    "thread": hang_in_a_thread,
    "refuse": refuse_to_start,
    "refuse-in-group": refuse_in_a_group,
    "crash": crash,
    "crash-task": crash_in_the_background,
    "return": return_at_once,
}

if __name__ == "__main__":
    sys.exit(run_service("example", ExampleConfig, serve, sys.argv[1:]))
