"""Apache Kafka in ZooKeeper mode on this machine, as the peer that a benchmark compares with. Needs java, and mvn once."""

import os
import shutil
import subprocess
from pathlib import Path

VERSION = "3.9.2"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tidelog-bench" / f"kafka-{VERSION}"
_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidelog</groupId><artifactId>bench</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
  </dependencies>
</project>
"""
# What Kafka's own start script gives a broker.
_JVM = (
    "-Xmx1g",
    "-Xms1g",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
)
_BROKER = """broker.id={id}
listeners=PLAINTEXT://127.0.0.1:{port}
zookeeper.connect=127.0.0.1:{zookeeper_port}
log.dirs={folder}/data
offsets.topic.replication.factor={offsets_replicas}
group.initial.rebalance.delay.ms=0
log.segment.delete.delay.ms=1000
"""
_ZOOKEEPER = """dataDir={folder}/data
clientPort={port}
clientPortAddress=127.0.0.1
maxClientCnxns=0
admin.enableServer=false
"""
_STOP_S = 60.0


def fetch_jars() -> Path:
    """The folder of Kafka's jars, from Maven Central the first time."""
    jars = _CACHE / "jars"
    if not (_CACHE / "complete").exists():
        for program in ("java", "mvn"):
            if shutil.which(program) is None:
                raise SystemExit(f"{program} is needed to run Apache Kafka; or name a folder of its jars with --jars")
        _CACHE.mkdir(parents=True, exist_ok=True)
        (_CACHE / "pom.xml").write_text(_POM)
        command = ["mvn", "-B", "-q", "-f", str(_CACHE / "pom.xml"), "dependency:copy-dependencies"]
        subprocess.run([*command, "-DincludeScope=runtime", f"-DoutputDirectory={jars}"], check=True)
        (_CACHE / "complete").touch()
    return jars


class KafkaPeer:
    """ZooKeeper and some brokers, in a folder of their own."""

    label = f"Apache Kafka {VERSION}"

    def __init__(self, jars: Path, folder: Path, port_base: int, brokers: int) -> None:
        self._jars = jars
        self._folder = folder
        self._port_base = port_base
        self._brokers = brokers
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{self._port_base + 1 + id}" for id in range(self._brokers))

    def up(self) -> None:
        """Start everything; it is ready when it answers."""
        port = self._port_base
        zookeeper = _ZOOKEEPER.format(folder=self._folder / "zookeeper", port=port)
        self._start("zookeeper", ("-Xmx256m",), "org.apache.zookeeper.server.quorum.QuorumPeerMain", zookeeper)
        for id in range(self._brokers):
            name = f"broker-{id}"
            settings = _BROKER.format(
                id=id,
                port=port + 1 + id,
                zookeeper_port=port,
                folder=self._folder / name,
                offsets_replicas=min(3, self._brokers),
            )
            self._start(name, _JVM, "kafka.Kafka", settings)

    def start_broker(self, id: int) -> None:
        """Again, after it has ended."""
        name = f"broker-{id}"
        self._processes[name].wait(_STOP_S)
        self._run(name, _JVM, "kafka.Kafka")

    def pids(self) -> dict[str, int]:
        return {name: process.pid for name, process in self._processes.items()}

    def down(self) -> None:
        """Brokers first: they say goodbye to ZooKeeper."""
        for process in reversed(self._processes.values()):
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, name: str, jvm: tuple[str, ...], main: str, settings: str) -> None:
        folder = self._folder / name
        (folder / "data").mkdir(parents=True)
        (folder / "settings").write_text(settings)
        self._run(name, jvm, main)

    def _run(self, name: str, jvm: tuple[str, ...], main: str) -> None:
        folder = self._folder / name
        command = ["java", *jvm, "-cp", f"{self._jars}/*", main, str(folder / "settings")]
        with (folder / "log").open("ab") as log:
            self._processes[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)
