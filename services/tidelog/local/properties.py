"""The settings file of each process: what `tidelog up` decides, and what belongs to the person who runs it.

A file has two parts. The upper one is written anew by every `up`: ids, addresses, defaults that follow from the size of
the cluster. The lower one is the person's: `--config` puts settings there, edits by hand are kept, and it wins over the
upper part because a setting that stands there is left out above.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from tidelog.local.faults import WrongUsageError
from tidelog.local.layout import Listener, LocalProcess, Role, Shape
from tidelog.runtime.properties import parse_properties

_HEADER = "# Written by every `tidelog up`: change these with its options, or set them again in the part below.\n"
_MARK = (
    "# Yours: kept by `tidelog up`, and stronger than the part above. `tidelog up --config KEY=VALUE` writes here.\n"
)

_ID_SETTING = {
    Role.BROKER: "broker.id",
    Role.CONTROLLER: "controller.id",
    Role.GROUP_COORDINATOR: "coordinator.id",
    Role.METADATA: "metadata.id",
}
# The metadata process serves its ops endpoints on the port of the console.
_HTTP_SETTING = dict.fromkeys(_ID_SETTING, "ops.listener") | {Role.METADATA: "http.listener"}

# Settings that differ from process to process, with the option that moves them.
_LAID_OUT = {
    **dict.fromkeys(_ID_SETTING.values(), "`tidelog up` numbers the processes from 0"),
    **dict.fromkeys(("listeners", "grpc.listener", "ops.listener", "http.listener", "controllers"), "use --port-base"),
    "zookeeper.connect": "use --zookeeper",
}
# Kafka's defaults, which a cluster with fewer brokers could not satisfy.
_INTERNAL_REPLICAS = 3
_INTERNAL_MIN_ISR = 2


def parse_overrides(texts: list[str]) -> dict[str, str]:
    """The settings in a list of KEY=VALUE; the last one wins."""
    overrides = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key or "\n" in value:
            raise WrongUsageError(f"--config takes KEY=VALUE, as in log.segment.bytes=1048576, not {text!r}.")
        if key in _LAID_OUT:
            raise WrongUsageError(f"{key} cannot be the same for every process of a cluster: {_LAID_OUT[key]}.")
        overrides[key] = value
    return overrides


def laid_out_settings(process: LocalProcess, shape: Shape, data: Path) -> dict[str, str]:
    """What follows from the place of a process in the cluster."""
    settings = {_ID_SETTING[process.role]: str(process.id), "zookeeper.connect": shape.zookeeper}
    if kafka := process.address(Listener.KAFKA):
        settings["listeners"] = f"PLAINTEXT://{kafka}"
    if grpc := process.address(Listener.GRPC):
        settings["grpc.listener"] = grpc
    if http := process.address(Listener.HTTP):
        settings[_HTTP_SETTING[process.role]] = http
    if process.role is Role.METADATA:
        settings["controllers"] = ",".join(shape.addresses(Role.CONTROLLER, Listener.GRPC))
    if process.role is Role.BROKER:
        settings["log.dirs"] = str(data)
    return settings


def sized_settings(brokers: int) -> dict[str, str]:
    """The internal topics' settings that this number of brokers can satisfy."""
    replicas = str(min(_INTERNAL_REPLICAS, brokers))
    return {
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": str(min(_INTERNAL_MIN_ISR, brokers)),
    }


def settings_text(
    upper: Mapping[str, str], overrides: Mapping[str, str], known: Collection[str], previous: str = ""
) -> str:
    """The file of one process, given the text it had before; only settings that its role knows are put in."""
    own = _with_overrides(own_part(previous), {key: value for key, value in overrides.items() if key in known})
    laid_out = {key: value for key, value in upper.items() if key in known and key not in parse_properties(own)}
    return _HEADER + _lines(laid_out) + "\n" + _MARK + own


def own_part(text: str) -> str:
    """The person's part of a settings file; a file without the mark is the person's as a whole."""
    return text.partition(_MARK)[2] if _MARK in text else text


def _with_overrides(own: str, overrides: Mapping[str, str]) -> str:
    kept = [line for line in own.splitlines() if not _is_replaced(line, overrides)]
    return "".join(f"{line}\n" for line in kept) + _lines(overrides)


def _is_replaced(line: str, overrides: Mapping[str, str]) -> bool:
    """Whether a line only sets what is set anew; one that goes on in the next stays, and is overruled from below."""
    return not line.endswith("\\") and any(key in overrides for key in parse_properties(line))


def _lines(settings: Mapping[str, str]) -> str:
    return "".join(f"{key}={_escaped(value)}\n" for key, value in settings.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\")
