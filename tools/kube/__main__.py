"""`python -m tools.kube up | down | load ARCHIVE...`: a real Kubernetes on this machine, without pulling images."""

import argparse
import gzip
import shutil
import tempfile
from pathlib import Path

from tools.kube.down import down
from tools.kube.settings import Settings
from tools.kube.up import import_image, locked, up


def main() -> None:
    arguments = _arguments()
    settings = Settings()
    if arguments.verb == "up":
        up(settings)
        print(settings.kubeconfig)
    elif arguments.verb == "down":
        down(settings)
    else:
        _load(settings, arguments.archives)


def _load(settings: Settings, archives: list[Path]) -> None:
    """Import what `docker save` wrote, gzipped or not."""
    with locked(settings), tempfile.TemporaryDirectory() as folder:
        for archive in archives:
            if archive.suffix == ".gz":
                unpacked = Path(folder) / "image.tar"
                with gzip.open(archive) as packed, unpacked.open("wb") as out:
                    shutil.copyfileobj(packed, out)
                archive = unpacked
            import_image(settings, archive)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.kube", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("up", help="start what does not run yet; prints the path for KUBECONFIG")
    verbs.add_parser("down", help="stop everything and remove it; compiled programs are kept")
    load = verbs.add_parser("load", help="bring images into the cluster")
    load.add_argument("archives", nargs="+", type=Path, metavar="ARCHIVE")
    return parser.parse_args()


if __name__ == "__main__":
    main()
