"""`tidelog zookeeper-server-start`, `kafka-server-start` and `kafka-server-stop`.

A broker of Kafka is its own controller and coordinator. So `kafka-server-start` runs three processes of ours, which live
and die together: the broker with the settings in its file, and a controller and a coordinator with the same id.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tidelog.cli.interrupts import Interrupts
from tidelog.cli.kafka_tools.dialect import Flags, client_settings
from tidelog.cli.parsing import pairs
from tidelog.local.faults import LocalError, WrongUsageError
from tidelog.local.known_settings import known_settings
from tidelog.local.layout import HOST, Role
from tidelog.local.pids import is_alive, load_ref, refer_to, save_ref, send_signal
from tidelog.local.zookeeper import zookeeper_command

_GRACE_S = 35.0
_LOOK_INTERVAL_S = 0.2
_IDS = {Role.CONTROLLER: "controller.id", Role.GROUP_COORDINATOR: "coordinator.id", Role.BROKER: "broker.id"}


def _parser(tool: str, text: str, examples: tuple[str, ...]) -> Flags:
    flags = Flags(tool, text, examples)
    flags.add_argument("-daemon", "--daemon", action="store_true", help="return at once, and run in the background")
    flags.add_argument("-name", metavar="NAME", help="taken and forgotten")
    flags.add_argument("file", metavar="FILE", type=Path, help="a properties file")
    flags.lists("override")
    return flags


def zookeeper_main(arguments: list[str]) -> None:
    """Run ZooKeeper with a file of settings until a signal."""
    text = "Run a ZooKeeper in the foreground with zookeeper.properties."
    flags = _parser("zookeeper-server-start", text, ("config/zookeeper.properties",))
    given = flags.parse_args(arguments)
    settings = client_settings(str(given.file))
    if "dataDir" not in settings or "clientPort" not in settings:
        raise WrongUsageError(f"{given.file} must set dataDir and clientPort.")
    Path(settings["dataDir"]).mkdir(parents=True, exist_ok=True)
    command = zookeeper_command(given.file.absolute())
    if given.daemon:
        _detach(command)
        return
    _together([command], "zookeeper")


def kafka_main(arguments: list[str]) -> None:
    """Run a broker, a controller and a coordinator with a file of settings until a signal."""
    text = "Run one broker, with all that a broker needs, with server.properties."
    flags = _parser("kafka-server-start", text, ("config/server.properties --override broker.id=1",))
    given = flags.parse_args(arguments)
    if given.daemon:
        rest = [each for each in arguments if each not in ("-daemon", "--daemon")]
        _detach([sys.executable, "-m", "tidelog", "kafka-server-start", *rest])
        return
    settings = {**client_settings(str(given.file)), **pairs(given.override, "--override")}
    _together([_command(role, settings) for role in _IDS], "kafka")


def _command(role: Role, settings: dict[str, str]) -> list[str]:
    """The broker takes everything; the others what they know of it."""
    number = settings.get("broker.id", "0")
    known = known_settings(role)
    own = dict(settings) if role is Role.BROKER else {key: value for key, value in settings.items() if key in known}
    for name in ("broker.id", "listeners", "advertised.listeners"):
        if role is not Role.BROKER:
            own.pop(name, None)
    own |= {_IDS[role]: number}
    for name in ("grpc.listener", "ops.listener"):
        own.setdefault(name, f"{HOST}:{_free_port()}")
    if role is Role.GROUP_COORDINATOR and "listeners" in known:
        own["listeners"] = f"PLAINTEXT://{HOST}:{_free_port()}"
    given = [
        part
        for key, value in own.items()
        if key in known or role is Role.BROKER
        for part in ("--set", f"{key}={value}")
    ]
    return [sys.executable, "-m", "tidelog", role.value, *given]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _together(commands: list[list[str]], kind: str) -> None:
    """Run processes until a signal, or until one of them ends; then end all of them."""
    interrupts = Interrupts()
    path = _folder() / f"{kind}-{os.getpid()}"
    save_ref(path, refer_to(os.getpid()))
    children = [subprocess.Popen(command, start_new_session=True) for command in commands]
    try:
        while not interrupts.requested() and all(child.poll() is None for child in children):
            interrupts.wait(_LOOK_INTERVAL_S)
    finally:
        # In the reverse of the order in which they were started: a broker hands over through its controller.
        for child in reversed(children):
            _end(child)
        path.unlink(missing_ok=True)
    if not interrupts.requested():
        codes = [child.returncode for child in children]
        raise LocalError(f"A process of this server ended by itself (exit codes {codes}).")


def _end(child: "subprocess.Popen[bytes]") -> None:
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _detach(command: list[str]) -> None:
    nowhere = subprocess.DEVNULL
    child = subprocess.Popen(command, start_new_session=True, stdin=nowhere, stdout=nowhere, stderr=nowhere)
    print(f"Runs in the background with pid {child.pid}.")


def stop_main(arguments: list[str]) -> None:
    """Send SIGTERM to every server that kafka-server-start runs for this user, and wait for them."""
    flags = Flags("kafka-server-stop", "Stop what kafka-server-start started.", ("",))
    flags.values("process-role", "node-id")
    flags.parse_args(arguments)
    refs = [ref for path in sorted(_folder().glob("kafka-*")) if (ref := load_ref(path)) and is_alive(ref)]
    if not refs:
        raise LocalError("No kafka server to stop")
    for ref in refs:
        send_signal(ref, signal.SIGTERM)
    deadline = time.monotonic() + 3 * _GRACE_S
    while any(is_alive(ref) for ref in refs) and time.monotonic() < deadline:
        time.sleep(_LOOK_INTERVAL_S)


def _folder() -> Path:
    """Where servers of this user write down that they run."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(runtime) / "tidelog" if runtime else Path(tempfile.gettempdir()) / f"tidelog-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
