"""`tidelog debug`: all that somebody who helps from afar would ask for, in one file."""

import io
import json
import platform
import re
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidelog.cli.lazily import noun
from tidelog.cli.options import DEFAULT_DATA_DIR, JsonOption
from tidelog.cli.printing import print_json
from tidelog.cli.target import Target, speaks
from tidelog.local.data_dir import DataDir
from tidelog.local.faults import LocalError
from tidelog.local.layout import Listener
from tidelog.local.shape_file import load_shape

if TYPE_CHECKING:
    from tidelog.client import Admin

debug = noun("debug", "Gather what is needed to find out what is wrong.")

_LOG_BYTES_MAX = 2_000_000
_SECRET = re.compile(r"^([^#=\n]*(?:password|secret|jaas)[^=\n]*=).*$", re.IGNORECASE | re.MULTILINE)


@debug.command("bundle")
@speaks
async def bundle(
    target: Target,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", show_default="tidelog-debug-TIME.tar.gz")
    ] = None,
    local: Annotated[
        Path,
        typer.Option(
            "--local", envvar="TIDELOG_DATA_DIR", metavar="DIR", help="Also logs and settings of processes there."
        ),
    ] = DEFAULT_DATA_DIR,
    json_output: JsonOption = False,
) -> None:
    """Write a .tar.gz with the cluster's topics, groups, settings and health, and of a local one logs and metrics.

    Records are not in it, and the values of passwords are not either.

    Examples:

    - `tidelog debug bundle --output bundle.tar.gz`
    """
    path = output or Path(f"tidelog-debug-{time.strftime('%Y%m%d-%H%M%S')}.tar.gz")
    parts: dict[str, bytes] = {"versions.json": _json(_versions())}
    async with target.admin() as admin:
        for name, document in [(name, await ask(admin)) for name, ask in _QUESTIONS.items()]:
            parts[f"cluster/{name}.json"] = _json(document)
    parts |= dict(_local_parts(DataDir(local.expanduser().absolute())))
    try:
        _write(path, parts)
    except OSError as error:
        raise LocalError(f"{path} cannot be written ({error.strerror}).") from None
    if json_output:
        print_json({"file": str(path), "parts": sorted(parts)})
    else:
        print(f"Wrote {len(parts)} parts to {path}.")


async def _cluster(admin: "Admin") -> Any:
    found = await admin.describe_cluster()
    brokers = [{"id": each.id, "host": each.host, "port": each.port, "rack": each.rack} for each in found.brokers]
    return {"cluster_id": found.cluster_id, "controller": found.controller_id, "brokers": brokers}


async def _topics(admin: "Admin") -> Any:
    from tidelog.cli.health import all_partitions

    return [
        {"topic": each.topic, "partition": each.partition, "leader": each.leader, "epoch": each.leader_epoch,
         "replicas": each.replicas, "isr": each.isr}
        for each in await all_partitions(admin)
    ]  # fmt: skip


async def _groups(admin: "Admin") -> Any:
    from tidelog.cli.lag import group_lags

    listed = await admin.list_groups()
    described = await admin.describe_groups([each.group_id for each in listed])
    return [
        {
            "group": each.group_id,
            "state": each.state,
            "members": len(each.members),
            "lag": [lag.document() for lag in await group_lags(admin, each)],
        }
        for each in described.values()
    ]


async def _configs(admin: "Admin") -> Any:
    from tidelog.client import ConfigResource

    found = {}
    for broker in (await admin.describe_cluster()).brokers:
        entries = await admin.describe_configs(ConfigResource.broker(broker.id))
        found[broker.id] = {name: each.value for name, each in sorted(entries.items())}
    return found


async def _health(admin: "Admin") -> Any:
    from tidelog.cli.health import look

    return (await look(admin)).document()


async def _transactions(admin: "Admin") -> Any:
    return [
        {"transactional_id": each.transactional_id, "producer_id": each.producer_id, "state": each.state}
        for each in await admin.list_transactions()
    ]


_QUESTIONS = {
    "cluster": _cluster,
    "topics": _topics,
    "groups": _groups,
    "broker-configs": _configs,
    "health": _health,
    "transactions": _transactions,
}


def _local_parts(data_dir: DataDir) -> Iterator[tuple[str, bytes]]:
    """Settings, the ends of logs, and metrics of the processes on this machine, if there are any."""
    shape = load_shape(data_dir.cluster_file)
    for process in shape.processes if shape else ():
        folder = f"processes/{process.role}-{process.id}"
        with suppress(OSError):
            text = data_dir.settings_file(process).read_text("utf-8")
            yield f"{folder}/settings.properties", _SECRET.sub(r"\1[hidden]", text).encode()
        with suppress(OSError):
            yield f"{folder}/log.txt", data_dir.log_file(process).read_bytes()[-_LOG_BYTES_MAX:]
        if address := process.address(Listener.HTTP):
            with suppress(OSError), urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as page:
                yield f"{folder}/metrics.txt", page.read()


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    return {"tidelog": version("tidelog"), "python": platform.python_version(), "system": platform.platform()}


def _json(document: Any) -> bytes:
    return json.dumps(document, indent=2).encode() + b"\n"


def _write(path: Path, parts: dict[str, bytes]) -> None:
    folder = path.name.removesuffix(".tar.gz")
    with tarfile.open(path, "w:gz") as archive:
        for name, data in parts.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(data)
            entry.mtime = int(time.time())
            archive.addfile(entry, io.BytesIO(data))
