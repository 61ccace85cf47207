"""Members of groups in processes of their own, in the hands of a test: what they own, read and committed, and their end."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.kafka_jars import kafka_jars
from tests.support.waiting import WAIT_S, eventually

_JAVA = "org.apache.kafka.tools.VerifiableConsumer"
_JAVA_ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


class Subscription(NamedTuple):
    """Who joins which group for what; `client` is one of group_member.CLIENTS, or java."""

    client: str
    strategy: str
    bootstrap: str
    group: str
    topic: str
    session_ms: int
    instance: str | None = None


class MemberProcess:
    def __init__(self, folder: Path, wish: Subscription) -> None:
        self.events: list[dict[str, Any]] = []
        command = _java_command(wish) if wish.client == "java" else _python_command(wish)
        with (folder / "members.log").open("ab") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(b"{"):
                self.events.append(json.loads(line))

    @property
    def owned(self) -> set[int]:
        """The partitions that it has now, as far as it says."""
        found: set[int] = set()
        for event in list(self.events):
            partitions = {each["partition"] for each in event.get("partitions", ())}
            if event["name"] == "partitions_assigned":
                found |= partitions
            elif event["name"] == "partitions_revoked":
                found -= partitions
        return found

    @property
    def rebalances(self) -> int:
        """How often it was told of a change."""
        return sum(event["name"].startswith("partitions_") for event in list(self.events))

    @property
    def consumed(self) -> int:
        return sum(event["count"] for event in list(self.events) if event["name"] == "records_consumed")

    def commits(self) -> list[tuple[bool, str]]:
        """Of every commit, whether it succeeded, and what went wrong."""
        told = [event for event in list(self.events) if event["name"] == "offsets_committed"]
        return [(bool(event["success"]), str(event.get("error"))) for event in told]

    def commit(self, how: str) -> tuple[bool, str]:
        before = len(self.commits())
        self.ask_commit(how)
        return eventually(lambda: self.commits()[before:])[0]

    def ask_commit(self, how: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"commit {how}\n".encode())
        self.process.stdin.flush()

    def leave(self) -> None:
        """SIGTERM: a member that leaves says so."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(WAIT_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(WAIT_S)

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self.kill()
        self._reader.join(WAIT_S)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


def _python_command(wish: Subscription) -> list[str]:
    arguments = [str(each) for each in wish if each is not None]
    return [sys.executable, "-m", "tests.support.group_member", *arguments]


def _java_command(wish: Subscription) -> list[str]:
    assignor = f"org.apache.kafka.clients.consumer.{_JAVA_ASSIGNORS[wish.strategy]}"
    return [
        *("java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{kafka_jars()}/*", _JAVA),
        *("--bootstrap-server", wish.bootstrap, "--topic", wish.topic, "--group-id", wish.group),
        *("--reset-policy", "earliest", "--session-timeout", str(wish.session_ms), "--assignment-strategy", assignor),
        *(("--group-instance-id", wish.instance) if wish.instance else ()),
    ]
