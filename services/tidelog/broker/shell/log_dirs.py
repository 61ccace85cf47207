"""The broker's log directories at start-up: made if missing, writable, and held by one broker at a time."""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tidelog.runtime.faults import StartupError

LOCK = ".lock"  # the name that Kafka's brokers lock, so that the two never share a directory by mistake


@contextmanager
def held_log_dirs(directories: Iterable[str]) -> Iterator[None]:
    """Hold every directory until the context is left; raises StartupError for one that cannot be used."""
    with ExitStack() as held:
        for directory in directories:
            held.enter_context(_held(Path(directory)))
        yield


@contextmanager
def _held(directory: Path) -> Iterator[None]:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StartupError(
            f"cannot write to {directory} (log.dirs): {reason}; choose another directory or make it writable"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StartupError(
            f"{directory} (log.dirs) is in use by another broker; stop it or choose another directory"
        ) from None
    else:
        yield
    finally:
        os.close(lock)
