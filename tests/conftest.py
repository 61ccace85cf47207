"""What holds for every run of tests: how it ends."""

import os
import sys

import pytest

_EXIT_STATUS = pytest.StashKey[int]()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[_EXIT_STATUS] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End at once when everything has been said.

    Threads that C libraries have started for tests (gRPC, librdkafka) may call into Python while the interpreter is taken
    down. A run once died of that, in PyThreadState_New, with another exit code than its tests had earned.
    """
    status = config.stash.get(_EXIT_STATUS, None)
    if status is not None and not hasattr(config, "workerinput"):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
