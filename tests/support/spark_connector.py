"""Spark's own connector for Kafka, fetched from Maven Central: the newest that there is for the Spark at hand."""

import os
import shutil
import subprocess
from pathlib import Path

import pyspark

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "tidelog-interop"
# Versions of the connector and of its part for delegation tokens, which plain listeners never call. A new Spark is on PyPI
# before its connector is in Maven Central, and not every mirror has every part in every version.
_PAIRS = ((pyspark.__version__, pyspark.__version__), ("4.2.0", "4.2.0"), ("4.2.0", "4.0.0"))
_DEPENDENCY = """<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>
  <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"""
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tidelog</groupId><artifactId>connector</artifactId><version>1</version><dependencies>{}</dependencies></project>"""


class NoConnectorError(Exception):
    """Why it cannot be had."""


def connector_jars() -> list[Path]:
    """Its jars and those that it needs besides Spark's. Raises NoConnectorError where they cannot be fetched."""
    if shutil.which("mvn") is None:
        raise NoConnectorError("mvn is needed to fetch Spark's connector for Kafka")
    for connector, tokens in _PAIRS:
        folder = _CACHE / f"spark-connector-{connector}-{tokens}"
        if (folder / "complete").exists() or _fetch(connector, tokens, folder):
            return sorted((folder / "jars").glob("*.jar"))
    raise NoConnectorError("Spark's connector for Kafka cannot be fetched from Maven Central")


def _fetch(connector: str, tokens: str, folder: Path) -> bool:
    wanted = (
        ("org.apache.spark", "spark-sql-kafka-0-10_2.13", connector),
        ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", tokens),
        ("org.apache.kafka", "kafka-clients", "3.9.2"),
        ("org.apache.commons", "commons-pool2", "2.12.0"),
    )
    parts = "".join(_DEPENDENCY.format(group=group, name=name, version=version) for group, name, version in wanted)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(_POM.format(parts))
    command = ["mvn", "-B", "-q", "-U", "-f", str(folder / "pom.xml"), "dependency:copy-dependencies"]
    done = subprocess.run([*command, f"-DoutputDirectory={folder / 'jars'}"], capture_output=True)
    if done.returncode:
        return False
    (folder / "complete").touch()
    return True
