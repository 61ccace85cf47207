"""cluster.json: the shape of a cluster, kept so that later commands find its processes."""

import json
from pathlib import Path
from typing import Any

from tidelog.local.faults import LocalError
from tidelog.local.layout import Listener, LocalProcess, Role, Shape

VERSION = 1


def save_shape(path: Path, shape: Shape) -> None:
    """Write the file in one step, so that a reader never sees half of it."""
    fresh = path.with_suffix(".json.new")
    fresh.write_text(encode_shape(shape))
    fresh.replace(path)


def load_shape(path: Path) -> Shape | None:
    """The shape in the file, or None if there is no such file."""
    try:
        return decode_shape(path.read_text())
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise LocalError(
            f"{path} does not describe a cluster ({error}): restore it, or remove the data directory."
        ) from error
    except OSError as error:
        raise LocalError(f"{path} cannot be read ({error.strerror}): check its owner and permissions.") from error


def encode_shape(shape: Shape) -> str:
    """The JSON text of a shape."""
    processes = [{"role": process.role, "id": process.id, "ports": process.ports} for process in shape.processes]
    document = {
        "version": VERSION,
        "zookeeper": shape.zookeeper,
        "port_base": shape.port_base,
        "processes": processes,
    }
    return json.dumps(document, indent=2) + "\n"


def decode_shape(text: str) -> Shape:
    """The shape in a JSON text; ValueError, KeyError or TypeError if it is none."""
    document: dict[str, Any] = json.loads(text)
    if document["version"] != VERSION:
        raise ValueError(f"version {document['version']} instead of {VERSION}")
    processes = tuple(_decode_process(process) for process in document["processes"])
    return Shape(zookeeper=document["zookeeper"], processes=processes, port_base=document["port_base"])


def _decode_process(document: dict[str, Any]) -> LocalProcess:
    ports = {Listener(name): int(port) for name, port in document["ports"].items()}
    return LocalProcess(Role(document["role"]), int(document["id"]), ports)
