"""Writes the image of the pause container: one static program, in the archive format that `docker load` reads."""

import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def write(program: Path, name: str, archive: Path) -> None:
    """An image called `name` that runs this program and has nothing else in it."""
    layer = _layer(program)
    config = json.dumps(_config(hashlib.sha256(layer).hexdigest())).encode()
    manifest = json.dumps([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(archive, "w") as out:
        for member, content in (("config.json", config), ("manifest.json", manifest), ("layer.tar", layer)):
            _add(out, member, content, 0o644)


def _layer(program: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as layer:
        _add(layer, "pause", program.read_bytes(), 0o755)
    return buffer.getvalue()


def _config(layer_digest: str) -> dict[str, object]:
    machine = platform.machine()
    return {
        "architecture": _ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "config": {"Entrypoint": ["/pause"], "User": "65535:65535"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
    }


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), mode
    archive.addfile(member, io.BytesIO(content))
