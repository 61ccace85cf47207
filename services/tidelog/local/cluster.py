"""The verbs of a cluster on this machine: up, down, status, kill and start, as functions of its data directory."""

import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.local.data_dir import DataDir
from tidelog.local.faults import LocalError, UnreachableError, WrongUsageError
from tidelog.local.known_settings import check_settings, known_settings
from tidelog.local.layout import Counts, Listener, LocalProcess, Role, Shape, lay_out
from tidelog.local.observing import Observed, observe, running_pid
from tidelog.local.pids import load_ref, send_signal
from tidelog.local.probing import Prober
from tidelog.local.properties import laid_out_settings, settings_text, sized_settings
from tidelog.local.shape_file import load_shape, save_shape
from tidelog.local.starting import Starter, check_ports
from tidelog.local.stopping import wait_gone
from tidelog.local.zookeeper import zoo_cfg
from tidelog.runtime.properties import parse_properties

_CONNECT_TIMEOUT_S = 3.0
_KILL_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the options of `tidelog up` ask for; None leaves a thing as it was, or at its default in a new cluster."""

    brokers: int | None = None
    controllers: int | None = None
    group_coordinators: int | None = None
    metadata: int | None = None
    zookeeper: str | None = None
    port_base: int | None = None
    overrides: Mapping[str, str] = field(default_factory=dict)


def open_data_dir(root: Path) -> DataDir:
    """The data directory behind an option; absolute, since processes run in directories of their own."""
    return DataDir(root.expanduser().absolute())


def existing_shape(data_dir: DataDir) -> Shape:
    """The shape of the cluster in a data directory; UnreachableError if there is none."""
    shape = load_shape(data_dir.cluster_file)
    if shape is None:
        raise UnreachableError(
            f"There is no cluster in {data_dir.root}: start one with `tidelog up`, or name --data-dir."
        )
    return shape


def desired_shape(wishes: Wishes, existing: Shape | None) -> Shape:
    """The cluster to start: what is wished for, else what was there before, else the defaults."""
    before = _counts(existing) if existing else Counts()
    counts = Counts(
        brokers=before.brokers if wishes.brokers is None else wishes.brokers,
        controllers=before.controllers if wishes.controllers is None else wishes.controllers,
        group_coordinators=before.group_coordinators
        if wishes.group_coordinators is None
        else wishes.group_coordinators,
        metadata=before.metadata if wishes.metadata is None else wishes.metadata,
    )
    if existing and counts.brokers < before.brokers:
        raise WrongUsageError(
            f"This cluster has {before.brokers} brokers, whose data would be missing from one with {counts.brokers}: "
            "start it with as many, or use another --data-dir."
        )
    external = existing.zookeeper if existing and not existing.has_embedded_zookeeper else None
    port_base = wishes.port_base or (existing.port_base if existing else None)
    return lay_out(counts, zookeeper=wishes.zookeeper or external, port_base=port_base)


def prepare(data_dir: DataDir, wishes: Wishes) -> Shape:
    """Decide on the cluster, check that it can start, and write its files. Call it with the data directory locked."""
    existing = load_shape(data_dir.cluster_file)
    if existing:
        _check_not_running(data_dir, existing)
    shape = desired_shape(wishes, existing)
    if not shape.has_embedded_zookeeper:
        check_zookeeper(shape.zookeeper)
    check_ports(shape)
    write_files(data_dir, shape, wishes.overrides)
    return shape


def write_files(data_dir: DataDir, shape: Shape, overrides: Mapping[str, str]) -> None:
    """Write the settings of every process, once all of them proved sound, and cluster.json last."""
    try:
        texts = {
            data_dir.settings_file(process): _settings(data_dir, shape, process, overrides)
            for process in shape.processes
        }
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        save_shape(data_dir.cluster_file, shape)
    except OSError as error:
        raise LocalError(
            f"{error.filename or data_dir.root} cannot be written ({error.strerror}): check its owner and permissions."
        ) from error


def look(data_dir: DataDir, shape: Shape) -> list[Observed]:
    """Every process as it is now."""
    prober = Prober()
    try:
        return observe(data_dir, shape, prober)
    finally:
        prober.close()


def find_process(shape: Shape, role: Role, number: int) -> LocalProcess:
    """The process with this role and id."""
    for process in shape.of(role):
        if process.id == number:
            return process
    ids = ", ".join(str(process.id) for process in shape.of(role)) or "none"
    raise WrongUsageError(f"This cluster has no {role} {number}: the ids of that role are {ids}.")


def signal_process(data_dir: DataDir, process: LocalProcess, number: signal.Signals) -> int:
    """Signal one process and return its pid; after SIGKILL it is gone when this returns."""
    ref = load_ref(data_dir.pid_file(process))
    if ref is None or not send_signal(ref, number):
        raise LocalError(f"{process} is not running: `tidelog start {process}` starts it.")
    if number is signal.SIGKILL:
        wait_gone(ref, _KILL_TIMEOUT_S)
    return ref.pid


def start_process(
    data_dir: DataDir, shape: Shape, process: LocalProcess, *, timeout_s: float | None, interrupted: Callable[[], bool]
) -> None:
    """Start one process again from its files; with a timeout, return once it is ready."""
    starter = Starter(data_dir, shape, interrupted=interrupted)
    with data_dir.locked():
        if pid := running_pid(data_dir, process):
            raise LocalError(f"{process} is already running with pid {pid}.")
        starter.start_one(process)
    if timeout_s is not None:
        starter.wait_ready([process], timeout_s)


def check_zookeeper(connect: str) -> None:
    """UnreachableError unless at least one server of a connect string accepts connections."""
    for host, port in parse_connect(connect):
        try:
            socket.create_connection((host, port), _CONNECT_TIMEOUT_S).close()
        except OSError:
            continue
        return
    raise UnreachableError(
        f"Nobody answers at the ZooKeeper address {connect}: check --zookeeper, or start that server."
    )


def parse_connect(connect: str) -> list[tuple[str, int]]:
    """The servers in "host:port,host:port/chroot"."""
    servers = []
    for server in connect.partition("/")[0].split(","):
        host, _, port = server.rpartition(":")
        if not host or not port.isdecimal():
            raise WrongUsageError(f"--zookeeper takes host:port, or several with commas between, not {connect!r}.")
        servers.append((host.strip("[]"), int(port)))
    return servers


def _settings(data_dir: DataDir, shape: Shape, process: LocalProcess, overrides: Mapping[str, str]) -> str:
    if process.role is Role.ZOOKEEPER:
        return zoo_cfg(data_dir.data(process), process.ports[Listener.ZOOKEEPER])
    path = data_dir.settings_file(process)
    upper = laid_out_settings(process, shape, data_dir.data(process)) | sized_settings(len(shape.of(Role.BROKER)))
    try:
        previous = path.read_text("utf-8") if path.exists() else ""
        text = settings_text(upper, overrides, known_settings(process.role), previous)
        settings = parse_properties(text)
    except ValueError as error:
        raise LocalError(
            f"{path} cannot be read ({error}): correct it, or remove it to have it written anew."
        ) from error
    check_settings(process.role, settings)
    return text


def _check_not_running(data_dir: DataDir, shape: Shape) -> None:
    running = [process for process in shape.processes if running_pid(data_dir, process)]
    if running:
        names = _enumerate([str(process) for process in running])
        raise LocalError(f"A cluster is already running in {data_dir.root} ({names}): use `tidelog down` first.")


def _enumerate(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _counts(shape: Shape) -> Counts:
    return Counts(
        brokers=len(shape.of(Role.BROKER)),
        controllers=len(shape.of(Role.CONTROLLER)),
        group_coordinators=len(shape.of(Role.GROUP_COORDINATOR)),
        metadata=len(shape.of(Role.METADATA)),
    )
