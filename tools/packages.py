"""Debian's packages that the tools need, installed where that can be done."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable


def ensure(packages: Iterable[str], what_for: str) -> None:
    """Install them, or SystemExit with a sentence that names them."""
    wanted = sorted(set(packages))
    if not wanted:
        return
    names = ", ".join(wanted)
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise SystemExit(f"{what_for} needs {names}; to install packages takes apt-get and root.")
    sys.stderr.write(f"installing {names}\n")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], check=True, env=environment)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *wanted]
    subprocess.run(install, check=True, env=environment, stdout=subprocess.DEVNULL)
