"""Resolves the dependencies into requirements/*.txt: exact versions with hashes, not where they were fetched."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = {
    "runtime.txt": ["pyproject.toml"],  # the four services: what the image installs
    "dev.txt": [
        "--extra",
        "local",
        "--extra",
        "spark",
        "pyproject.toml",
        "requirements/dev.in",
    ],  # `make up`, `make check`, `make test`
}
FLAGS = (
    "--quiet --upgrade --universal --python-version 3.11 --generate-hashes --strip-extras"
    " --no-header --no-annotate --no-emit-index-url --no-emit-find-links"
)

if __name__ == "__main__":
    for name, sources in TARGETS.items():
        uv = Path(sys.executable).parent / "uv"
        subprocess.run(
            [uv, "pip", "compile", *FLAGS.split(), *sources, "-o", f"requirements/{name}"], cwd=ROOT, check=True
        )
        print(f"requirements/{name} pinned")
