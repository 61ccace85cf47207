"""`make image`: builds the images and says how large they are; with --save also as archives for other machines."""

import argparse
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from tools import packages
from tools.images import base, contents
from tools.images.engine import Engine, engine

STATE = contents.ROOT / "build" / "docker"
ARCHIVES = contents.ROOT / "build" / "archives"


@dataclass(frozen=True, slots=True)
class Image:
    """An image's name, and the file that it is built from."""

    name: str
    file: str


SMALL = [Image("tidelog", "Dockerfile"), Image("tidelog-zookeeper", "deploy/images/zookeeper.Dockerfile")]
SPARK = Image("tidelog-spark", "deploy/images/spark.Dockerfile")
E2E = Image("tidelog-e2e", "deploy/images/e2e.Dockerfile")


def main() -> None:
    arguments = _arguments()
    wanted = [*SMALL, *([SPARK] if arguments.spark else []), *([E2E] if arguments.e2e else [])]
    contents.gather(spark=arguments.spark, e2e=arguments.e2e)
    if arguments.only_contents:
        return
    if shutil.which("docker") is None or not (Engine().answers() or shutil.which("dockerd")):
        packages.ensure(["docker.io"], "Building images")
    with engine(STATE) as built_by:
        for image in wanted:
            own_base = base.WITH_JAVA if image is SPARK else base.NAME
            _build(built_by, image, arguments.tag, arguments.base_image or base.ensure(built_by, own_base))
            if arguments.save:
                _save(built_by, image, arguments.tag)


def _build(built_by: Engine, image: Image, tag: str, base_image: str) -> None:
    name = f"{image.name}:{tag}"
    given = (f"BASE_IMAGE={base_image}", f"SERVICES_IMAGE={SMALL[0].name}:{tag}")
    options: list[str | Path] = ["--file", contents.ROOT / image.file, "--tag", name]
    options += [word for argument in given for word in ("--build-arg", argument)]
    if base_image in (base.NAME, base.WITH_JAVA):
        options += ["--network", "none"]  # these have all that is needed
    built_by.run("build", *options, contents.ROOT)
    print(f"{name}: {built_by.size_bytes(name) / 1e6:.0f} MB")


def _save(built_by: Engine, image: Image, tag: str) -> None:
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    archive = ARCHIVES / f"{image.name}.tar"
    built_by.run("save", "--output", archive, f"{image.name}:{tag}")
    print(f"  saved to {archive.relative_to(Path.cwd())}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.images", description=__doc__)
    parser.add_argument("--spark", action="store_true", help="the image of Spark too, which is large")
    parser.add_argument(
        "--e2e", action="store_true", help="the image of the end-to-end tests' client and Prometheus too"
    )
    parser.add_argument("--tag", default="0.1.0")
    parser.add_argument(
        "--base-image",
        default=os.environ.get("BASE_IMAGE"),
        help="FROM this image, such as python:3.11-slim; without it a base is made with debootstrap",
    )
    parser.add_argument("--save", action="store_true", help="write build/archives/NAME.tar too")
    parser.add_argument("--only-contents", action="store_true", help="gather build/images and build nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
