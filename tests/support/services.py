"""Tidelog's own processes in the hands of a test: started one by one, signalled, asked, and ended."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.ports import free_port
from tests.support.waiting import WAIT_S, eventually

ID_SETTING = {
    "broker": "broker.id",
    "controller": "controller.id",
    "group-coordinator": "coordinator.id",
    "metadata": "metadata.id",
}


@dataclass
class Service:
    """One process, its ports and its log."""

    role: str
    id: int
    settings: dict[str, str]
    log: Path
    arguments: list[str] = field(default_factory=list)
    popen: subprocess.Popen[bytes] | None = None

    @property
    def grpc(self) -> str:
        return self.settings["grpc.listener"]

    @property
    def http(self) -> str:
        return self.settings.get("http.listener") or self.settings["ops.listener"]

    @property
    def kafka(self) -> str:
        return self.settings["listeners"].removeprefix("PLAINTEXT://")

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self.popen is not None, "not started"
        return self.popen

    def start(self) -> "Service":
        settings = [argument for key, value in self.settings.items() for argument in ("--set", f"{key}={value}")]
        with self.log.open("ab") as out:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "tidelog", self.role, *settings, *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=_environment(),
            )
        return self

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.process.wait(WAIT_S)

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.signal(signal.SIGTERM)
        return self.process.wait(WAIT_S)

    def readyz(self) -> dict[str, Any]:
        """What /readyz says; raises OSError while nobody listens."""
        return get_json(f"http://{self.http}/readyz")

    def wait_ready(self, seconds: float = WAIT_S) -> "Service":
        eventually(self._is_ready, seconds)
        return self

    def text(self) -> str:
        return self.log.read_text()

    def _is_ready(self) -> bool:
        code = self.process.poll()
        if code is not None:
            raise RuntimeError(f"{self.role} {self.id} ended with {code}:\n{self.text()[-3000:]}")
        return bool(self.readyz()["ready"])


@dataclass
class Services:
    """Processes that share one ZooKeeper chroot; everything still running is killed at the end."""

    zookeeper: str
    folder: Path
    common: Mapping[str, str] = field(default_factory=dict)
    all: list[Service] = field(default_factory=list)

    def make(self, role: str, id: int, **settings: str) -> Service:
        """A service with ports of its own, not started; underscores in setting names stand for dots."""
        wanted = {
            ID_SETTING[role]: str(id),
            "grpc.listener": f"127.0.0.1:{free_port()}",
            **({"zookeeper.connect": self.zookeeper} if role != "metadata" else {"controllers": self._controllers()}),
            **({"http.listener": f"127.0.0.1:{free_port()}"} if role == "metadata" else {}),
            **({"ops.listener": f"127.0.0.1:{free_port()}"} if role != "metadata" else {}),
            **(
                {"listeners": f"PLAINTEXT://127.0.0.1:{free_port()}"} if role in ("broker", "group-coordinator") else {}
            ),
            **({"log.dirs": str(self.folder / f"broker-{id}-data")} if role == "broker" else {}),
            **(self.common if role != "metadata" else {}),
            **{key.replace("_", "."): value for key, value in settings.items()},
        }
        service = Service(role, id, wanted, self.folder / f"{role}-{id}-{len(self.all)}.log")
        self.all.append(service)
        return service

    def start(self, role: str, id: int, **settings: str) -> Service:
        return self.make(role, id, **settings).start()

    def of(self, role: str) -> list[Service]:
        return [service for service in self.all if service.role == role]

    def end(self) -> None:
        for service in self.all:
            if service.popen is not None and service.popen.poll() is None:
                service.signal(signal.SIGKILL)
                service.popen.wait(WAIT_S)

    def _of_a_broker(self, id: int) -> dict[str, str]:
        return {
            "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}",
            "log.dirs": str(self.folder / f"broker-{id}-data"),
        }

    def _controllers(self) -> str:
        return ",".join(service.grpc for service in self.of("controller"))


def get_text(url: str, timeout_s: float = 5.0) -> str:
    with urllib.request.urlopen(url, timeout=timeout_s) as answer:
        return str(answer.read(), "utf-8")


def get_json(url: str, timeout_s: float = 5.0) -> dict[str, Any]:
    """A JSON answer, whatever its status."""
    try:
        with urllib.request.urlopen(url, timeout=timeout_s) as answer:
            return dict(json.load(answer))
    except urllib.error.HTTPError as error:
        return dict(json.load(error))


def _environment() -> dict[str, str]:
    """This process's environment without settings that a developer's shell may carry."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TIDELOG_")}
