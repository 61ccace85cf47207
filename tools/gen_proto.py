"""Generates services/tidelog/rpc from proto/: messages, services, and annotations for both.

python tools/gen_proto.py            write them
python tools/gen_proto.py --check    say whether they are current, change nothing
"""

import re
import sys
import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
TARGET = ROOT / "services" / "tidelog" / "rpc"
PACKAGE = '"""Generated from proto/tidelog/v1 by `make proto`; never edited."""\n'


def generate(target: Path) -> None:
    """Runs protoc into a scratch folder and moves what it made into `target`, one flat package."""
    with tempfile.TemporaryDirectory() as scratch:
        sources = sorted(str(path.relative_to(PROTO)) for path in PROTO.rglob("*.proto"))
        status: int = protoc.main(
            [
                "protoc",
                f"-I{PROTO}",
                f"-I{Path(grpc_tools.__file__).parent / '_proto'}",
                f"--python_out={scratch}",
                f"--grpc_python_out={scratch}",
                f"--mypy_out=quiet:{scratch}",
                f"--mypy_grpc_out=quiet:{scratch}",
                f"--plugin=protoc-gen-mypy={Path(sys.executable).parent / 'protoc-gen-mypy'}",
                f"--plugin=protoc-gen-mypy_grpc={Path(sys.executable).parent / 'protoc-gen-mypy_grpc'}",
                *sources,
            ]
        )
        if status != 0:
            raise SystemExit("protoc refused the files in proto/; its words are above")
        for made in Path(scratch, "tidelog", "v1").iterdir():
            (target / made.name).write_text(in_our_package(made.read_text()))
    (target / "__init__.py").write_text(PACKAGE)


def in_our_package(text: str) -> str:
    """protoc imports by the path of the .proto file; ours live in tidelog.rpc.

    A servicer need not have every method: those it lacks answer UNIMPLEMENTED, so they are not abstract.
    """
    moved = re.sub(r"\btidelog\.v1(?= import \w+_pb2|\.\w+_pb2)", "tidelog.rpc", text)
    return re.sub(r"^ +@_abc_1\.abstractmethod\n", "", moved, flags=re.MULTILINE)


def stale() -> list[str]:
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        fresh = {path.name: path.read_text() for path in Path(scratch).iterdir()}
    there = {path.name: path.read_text() for path in TARGET.iterdir() if path.is_file()}
    return sorted(name for name in fresh.keys() | there.keys() if fresh.get(name) != there.get(name))


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        if names := stale():
            raise SystemExit(f"services/tidelog/rpc is not what proto/ says ({', '.join(names)}): run `make proto`")
    else:
        TARGET.mkdir(parents=True, exist_ok=True)
        for old in TARGET.glob("*_pb2*"):
            old.unlink()
        generate(TARGET)
