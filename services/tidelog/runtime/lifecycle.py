"""The way up and the way down of every service: settings, logs, event loop, signals, bounded drain, exit code."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

import uvloop

from tidelog.kafka.configs.faults import ConfigFaults
from tidelog.runtime import command_line, logs
from tidelog.runtime.background import suspended_at
from tidelog.runtime.descriptors import raise_descriptor_limit
from tidelog.runtime.faults import StartupError
from tidelog.runtime.process import Process
from tidelog.runtime.settings import load_config

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

CLEAN, FAILED, BAD_CONFIG = 0, 1, 2

# Past the drain's bound the loop itself may be stuck; this much later the process is ended from outside the loop.
_LAST_RESORT_MS = 2_000

_logger = logs.get("process")


class ServiceSettings(Protocol):
    """The settings that every service has and that this module reads."""

    @property
    def log_level(self) -> str: ...
    @property
    def log_format(self) -> logs.LogFormat: ...
    @property
    def shutdown_timeout_ms(self) -> int: ...


ConfigT = TypeVar("ConfigT", bound=ServiceSettings)


def run_service(
    role: str,
    config_type: type[ConfigT],
    serve: Callable[[ConfigT, Process], Coroutine[Any, Any, None]],
    argv: Sequence[str],
) -> int:
    """Run one service until it is told to stop; returns the exit code: 0 clean, 1 failure, 2 bad settings."""
    signals = _Signals()
    try:
        wanted = command_line.parse(role, argv)
        loaded = load_config(config_type, file=wanted.file, environ=os.environ, overrides=wanted.overrides)
    except SystemExit as usage:
        return usage.code if isinstance(usage.code, int) else BAD_CONFIG
    except ConfigFaults as faults:
        _tell_faults(role, faults)
        return BAD_CONFIG
    config = loaded.config
    instance = _instance(role, config)
    logs.configure(config.log_level, config.log_format, role, instance)
    for warning in loaded.warnings:
        _logger.warning("configuration", warning=warning)
    _, descriptors = raise_descriptor_limit()
    _logger.debug("descriptors", most=descriptors)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        code = runner.run(_supervise(role, instance, config, serve, signals))
    # Only now: closing the runner waits for the threads of the default executor, which may hang as well.
    faulthandler.cancel_dump_traceback_later()
    return code


async def _supervise(
    role: str,
    instance: int,
    config: ConfigT,
    serve: Callable[[ConfigT, Process], Coroutine[Any, Any, None]],
    signals: _Signals,
) -> int:
    """Run serve on this loop until it has ended; never longer than the drain's bound after a stop."""
    process = Process(role, instance, _settle, lambda: _arm_last_resort(config.shutdown_timeout_ms))
    asyncio.get_running_loop().set_exception_handler(_log_loop_error)
    signals.attach(process)
    _logger.info("starting", pid=os.getpid())
    running = asyncio.ensure_future(process.run(lambda process: serve(config, process)))
    stop = asyncio.ensure_future(process.stopped())
    await asyncio.wait({running, stop}, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait({running}, timeout=config.shutdown_timeout_ms / 1000.0)
    stop.cancel()
    if not running.done():
        _give_up(process, config.shutdown_timeout_ms)
    return _exit_code(process, running, config.log_format)


def _exit_code(process: Process, running: asyncio.Future[None], log_format: str) -> int:
    """Tell how it ended; the error of serve, if any, decides before all else."""
    error = running.exception()
    if error is not None:
        _tell_failure(process.role, error, log_format)
        return FAILED
    if process.failed:
        _logger.error("stopped after a failure")
        return FAILED
    _logger.info("stopped")
    return CLEAN


def _tell_failure(role: str, error: BaseException, log_format: str) -> None:
    sentences = _startup_sentences(error)
    if not sentences:
        _logger.failure("failed", error)
    elif log_format == "json":
        _logger.error("cannot run", why=" ".join(sentences))
    else:
        _print(*(f"tidelog {role}: {sentence}" for sentence in sentences))


def _startup_sentences(error: BaseException) -> list[str]:
    """The sentences, if operating faults are all there is; task groups wrap them."""
    if isinstance(error, BaseExceptionGroup):
        parts = [_startup_sentences(part) for part in error.exceptions]
        return [sentence for part in parts for sentence in part] if all(parts) else []
    return [str(error)] if isinstance(error, StartupError) else []


def _tell_faults(role: str, faults: ConfigFaults) -> None:
    count = len(faults.faults)
    _print(
        f"tidelog {role}: the configuration has {count} fault{'s' if count > 1 else ''}:",
        *(f"  - {fault}" for fault in faults.faults),
        "Every setting is documented in docs/config.md.",
    )


def _give_up(process: Process, timeout_ms: int) -> NoReturn:
    """The drain took too long: say what hangs, and leave without waiting for anything more."""
    _logger.error("drain not finished, exiting", timeout_ms=timeout_ms)
    for task in process.pending():
        _logger.error("hangs", task=task.get_name(), waiting_at=suspended_at(task))
    _exit_now()


def _arm_last_resort(timeout_ms: int) -> None:
    """End the process from outside the loop, with the stacks of all threads on stderr, if the drain blocks the loop."""
    faulthandler.dump_traceback_later((timeout_ms + _LAST_RESORT_MS) / 1000.0, exit=True)


def _exit_now() -> NoReturn:
    sys.stderr.flush()
    os._exit(FAILED)


def _settle() -> None:
    """Start-up is over: what lives now lives for good, so the collector need not look at it again.

    Measured with 110,000 live objects: full collections paused the loop for 40 ms and more; frozen and with these
    thresholds there was one pass of 1 ms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
    _logger.info("started", cpu_ms=round(time.process_time() * 1000))


def _log_loop_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:  # noqa: ARG001
    """What a library's callback or a forgotten task raised: worth a record, not worth the process."""
    _logger.failure(context.get("message", "error in the event loop"), context.get("exception"))


def _instance(role: str, config: ServiceSettings) -> int:
    id_setting = command_line.ID_SETTINGS.get(role, "")
    return int(getattr(config, id_setting.replace(".", "_"), 0) or 0)


def _print(*lines: str) -> None:
    sys.stderr.write("".join(f"{line}\n" for line in lines))


class _Signals:
    """SIGTERM and SIGINT: the first asks for a stop, at whatever stage the process is; the second ends it at once."""

    def __init__(self) -> None:
        self._received = 0
        self._process: Process | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, _: self._on_signal(received))

    def attach(self, process: Process) -> None:
        """From now on signals arrive through the loop; one that came before is passed on."""
        self._process = process
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number)
        if self._received:
            process.stop("signal during start-up")

    def _on_signal(self, number: int) -> None:
        self._received += 1
        if self._received > 1:
            _logger.error("second signal, exiting at once", signal=signal.Signals(number).name)
            _exit_now()
        if self._process is not None:
            self._process.stop(signal.Signals(number).name)
