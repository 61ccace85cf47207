"""Makes a base image with debootstrap, for machines that can pull none: a small Debian with Python."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tools import packages
from tools.images.engine import Engine

RELEASE = "bookworm"  # the Debian with Python 3.11
NAME = f"tidelog-base:{RELEASE}"
WITH_JAVA = f"tidelog-base-java:{RELEASE}"
_PACKAGES = {NAME: "python3,ca-certificates", WITH_JAVA: "python3,ca-certificates,default-jre-headless"}
# Nobody reads manuals in a container, and packages are not installed there.
_NEEDLESS = ("usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/i18n", "usr/share/zoneinfo",
             "var/cache", "var/lib/apt/lists", "var/log")  # fmt: skip


def ensure(engine: Engine, name: str = NAME) -> str:
    """The name of a base image, which is made if this engine does not have it."""
    if not engine.has(name):
        with tempfile.TemporaryDirectory(prefix="tidelog-base-") as folder:
            root = Path(folder) / "root"
            _debootstrap(root, _PACKAGES[name])
            _import(engine, root, name)
    return name


def _debootstrap(root: Path, included: str) -> None:
    if os.geteuid() != 0:
        raise SystemExit(
            "Making a base image with debootstrap needs root. Name an image instead: make image BASE_IMAGE=..."
        )
    if shutil.which("debootstrap") is None:
        packages.ensure(["debootstrap"], "Making a base image")
    command: list[str | Path] = ["debootstrap", "--variant=minbase", f"--include={included}", RELEASE, root]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for needless in _NEEDLESS:
        shutil.rmtree(root / needless, ignore_errors=True)
        (root / needless).mkdir(parents=True, exist_ok=True)


def _import(engine: Engine, root: Path, name: str) -> None:
    with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as tar:
        engine.run("import", "-", name, stdin=tar.stdout)
