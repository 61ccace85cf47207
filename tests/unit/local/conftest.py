"""What the tests of the local cluster share."""

from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import pytest

from tidelog.local.data_dir import DataDir
from tidelog.local.layout import LocalProcess
from tidelog.local.pids import refer_to, save_ref

STOPPED = 7
StartSleeper = Callable[..., "Popen[bytes]"]


@pytest.fixture
def data_dir(tmp_path: Path) -> DataDir:
    return DataDir(tmp_path)


@pytest.fixture
def sleeper(data_dir: DataDir) -> Iterator[StartSleeper]:
    """Stands in for a process of the cluster: it ends with STOPPED at SIGTERM, as a service does by a handler of its own."""
    started: list[Popen[bytes]] = []

    def start(process: LocalProcess, *, deaf: bool = False) -> Popen[bytes]:
        on_stop = "" if deaf else f"exit {STOPPED}"
        child = Popen(
            ["sh", "-c", f"trap '{on_stop}' TERM; echo up; while :; do sleep 0.05; done"], stdin=DEVNULL, stdout=PIPE
        )
        started.append(child)
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        data_dir.folder(process).mkdir(exist_ok=True)
        save_ref(data_dir.pid_file(process), refer_to(child.pid))
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()
