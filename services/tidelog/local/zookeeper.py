"""An embedded ZooKeeper: a real server, from the jars that pyspark ships, on the Java that is at hand.

Started this way it serves in about half a second and takes some 80 MB. Only the jars it needs are on the class path,
and the JVM is told to start fast rather than to run fast for hours: both keep `tidelog up` short.
"""

import re
import signal
import socket
import subprocess
import time
from pathlib import Path

from tidelog.local.faults import LocalError
from tidelog.local.java import find_java, package_folder
from tidelog.local.launching import last_sentence, launch
from tidelog.local.layout import HOST

JARS = (
    "zookeeper",
    "zookeeper-jute",
    "slf4j-api",
    "metrics-core",
    "snappy-java",
    "commons-io",
    # Without a logging back end ZooKeeper could not even say why it does not start.
    "log4j-api",
    "log4j-core",
    "log4j-slf4j2-impl",
)
JVM_OPTIONS = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.apache.logging.log4j.level=WARN",
)
_MAIN_CLASS = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_PROBE_TIMEOUT_S = 0.2
_PROBE_ATTEMPTS = 5
_POLL_INTERVAL_S = 0.02


class EmbeddedZookeeper:
    """One server in a directory of its own, for as long as the caller wants it."""

    def __init__(self, data_dir: Path, port: int) -> None:
        self.data_dir = data_dir
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def connect(self) -> str:
        """What a client takes as zookeeper.connect."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The process id of the running server."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the server; it serves once wait_ready returns."""
        assert self._process is None, "this ZooKeeper was already started"
        config = write_zoo_cfg(self.data_dir, self.port)
        self._process = launch(zookeeper_command(config), self.data_dir, self._log_file)

    def wait_ready(self, timeout_s: float = 30.0) -> None:
        """Wait until the server answers; LocalError if it ends or stays silent instead."""
        assert self._process is not None, "this ZooKeeper was not started"
        deadline = time.monotonic() + timeout_s
        while not zookeeper_serves(self.port):
            if self._process.poll() is not None:
                raise LocalError(f"ZooKeeper ended during start-up: {last_sentence(self._log_file)}")
            if time.monotonic() > deadline:
                raise LocalError(f"ZooKeeper on port {self.port} did not answer within {timeout_s:g} s.")
            time.sleep(_POLL_INTERVAL_S)

    def stop(self, timeout_s: float = 10.0) -> None:
        """End the server in an orderly way, or by force if it does not listen; its data stays."""
        self._end(signal.SIGTERM, timeout_s)

    def kill(self) -> None:
        """End the server as a crash would."""
        self._end(signal.SIGKILL, timeout_s=10.0)

    def _end(self, number: signal.Signals, timeout_s: float) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    @property
    def _log_file(self) -> Path:
        return self.data_dir / "zookeeper.log"


def zookeeper_command(config: Path) -> list[str]:
    """The command line of a server with this configuration file."""
    jars = find_jars(_jars_folder())
    class_path = ":".join(str(jar) for jar in jars)
    return [str(find_java()), *JVM_OPTIONS, "-cp", class_path, _MAIN_CLASS, str(config)]


def find_jars(folder: Path) -> list[Path]:
    """The newest file of each jar we need; LocalError names those that are missing."""
    files = sorted(folder.glob("*.jar"))
    found = {name: [file for file in files if re.fullmatch(rf"{name}-\d[^-]*\.jar", file.name)] for name in JARS}
    missing = [name for name, matches in found.items() if not matches]
    if missing:
        raise LocalError(
            f"The embedded ZooKeeper needs {', '.join(missing)} from pyspark's jars in {folder}, which lacks them: "
            "install pyspark 4, or give the address of a running server with --zookeeper."
        )
    return [matches[-1] for matches in found.values()]


def write_zoo_cfg(folder: Path, port: int) -> Path:
    """Write the configuration of a server that keeps its data in `folder`/data."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "zoo.cfg"
    path.write_text(zoo_cfg(folder / "data", port))
    return path


def zoo_cfg(data: Path, port: int) -> str:
    """The configuration of a standalone server on loopback.

    The short tick and the wide bounds let a service choose any session timeout from one second to one minute.
    """
    lines = {
        "dataDir": data,
        "clientPort": port,
        "clientPortAddress": HOST,
        "tickTime": 1000,
        "minSessionTimeout": 1000,
        "maxSessionTimeout": 60000,
        "maxClientCnxns": 0,
        "4lw.commands.whitelist": "srvr,ruok,mntr",
        "admin.enableServer": "false",
        "autopurge.snapRetainCount": 3,
        "autopurge.purgeInterval": 1,
    }
    return "".join(f"{key}={value}\n" for key, value in lines.items())


def zookeeper_serves(port: int) -> bool:
    """Whether the server answers requests: its port is open well before that.

    A connection made in between may never be answered, so a silent one is soon given up for a fresh one.
    """
    for _ in range(_PROBE_ATTEMPTS):
        try:
            return b"Mode" in _ask(port)
        except TimeoutError:
            continue
        except OSError:
            return False
    return False


def _ask(port: int) -> bytes:
    with socket.create_connection((HOST, port), _PROBE_TIMEOUT_S) as connection:
        connection.sendall(b"srvr")
        answer = bytearray()
        while chunk := connection.recv(4096):
            answer += chunk
    return bytes(answer)


def _jars_folder() -> Path:
    pyspark = package_folder("pyspark")
    if pyspark is None:
        raise LocalError(
            "The embedded ZooKeeper comes with pyspark, which is not installed: `pip install 'tidelog[local]'`, or "
            "give the address of a running server with --zookeeper."
        )
    return pyspark / "jars"
