"""Where everything of a cluster lies in its data directory.

cluster.json                      the processes, their ports, the ZooKeeper address
lock                              held while a command starts processes
<role>-<id>/<role>.properties     the settings of one process (zoo.cfg for ZooKeeper)
<role>-<id>/<role>.log            its standard output and error
<role>-<id>/pid                   its process id and start time
<role>-<id>/data                  the record logs of a broker, the database of ZooKeeper
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidelog.local.faults import LocalError
from tidelog.local.layout import LocalProcess, Role


@dataclass(frozen=True, slots=True)
class DataDir:
    """The paths in one data directory; the root is absolute, because the processes run elsewhere."""

    root: Path

    @property
    def cluster_file(self) -> Path:
        return self.root / "cluster.json"

    @property
    def lock_file(self) -> Path:
        return self.root / "lock"

    def folder(self, process: LocalProcess) -> Path:
        return self.root / f"{process.role}-{process.id}"

    def settings_file(self, process: LocalProcess) -> Path:
        name = "zoo.cfg" if process.role is Role.ZOOKEEPER else f"{process.role}.properties"
        return self.folder(process) / name

    def log_file(self, process: LocalProcess) -> Path:
        return self.folder(process) / f"{process.role}.log"

    def pid_file(self, process: LocalProcess) -> Path:
        return self.folder(process) / "pid"

    def data(self, process: LocalProcess) -> Path:
        return self.folder(process) / "data"

    def prepare(self) -> None:
        """Create the directory and make sure that it can be written."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self.lock_file.touch()
        except OSError as error:
            raise LocalError(
                f"The data directory {self.root} cannot be written ({error.strerror}): "
                "choose another one with --data-dir."
            ) from error

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep every other command from starting processes here; the lock goes with the process that holds it."""
        self.prepare()
        with self.lock_file.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LocalError(
                    f"Another command is starting processes in {self.root}: wait for it, or use another --data-dir."
                ) from None
            yield
