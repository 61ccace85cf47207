"""Where a process's settings come from: defaults, then a file, then the environment, then the command line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from tidelog.kafka.configs.faults import ConfigFaults, Fault
from tidelog.kafka.configs.reading import read_config
from tidelog.kafka.configs.setting import settings_of
from tidelog.runtime.properties import parse_properties

__all__ = ["ConfigFaults", "Fault", "Loaded", "load_config"]

C = TypeVar("C")

_PREFIX = "TIDELOG_"
# Kubernetes tells every pod the addresses of services in variables such as TIDELOG_BROKER_PORT_9092_TCP_ADDR.
_SERVICE_LINK = re.compile(r".*_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)")


@dataclass(frozen=True, slots=True)
class Loaded(Generic[C]):
    """A sound configuration, and what its author should know about it."""

    config: C
    warnings: tuple[str, ...]
    # Settings that another process of the cluster has; harmless in a file that all processes share.
    of_other_processes: tuple[str, ...] = ()


def load_config(
    config_type: type[C], *, file: Path | None, environ: Mapping[str, str], overrides: Mapping[str, str]
) -> Loaded[C]:
    """Read one process's configuration. Raises ConfigFaults with everything that is wrong with it."""
    from_file = _read_file(file) if file is not None else {}
    from_environment = _read_environment(config_type, environ)
    texts = {**from_file, **from_environment, **overrides}
    config = read_config(config_type, texts)
    own = settings_of(config_type)
    strange = [name for name in texts if name not in own]
    if not strange:
        return Loaded(config, ())
    # Every other process's settings are needed to say something sensible, and only then.
    from tidelog.kafka.configs.unknown import sort_out

    strangers = sort_out(config_type, strange)
    return Loaded(config, strangers.warnings, strangers.of_other_processes)


def _read_file(file: Path) -> dict[str, str]:
    try:
        return parse_properties(file.read_text("utf-8"))
    except OSError as error:
        reason = error.strerror or str(error)
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except ValueError as error:
        reason = str(error)
    raise ConfigFaults([Fault(f"the configuration file {file}", None, f"cannot be read: {reason}")])


def _read_environment(config_type: type, environ: Mapping[str, str]) -> dict[str, str]:
    """The settings among the environment's variables, by their names; a variable of no setting keeps its own."""
    own = {each.environment_variable: each.name for each in settings_of(config_type).values()}
    ours = {variable: text for variable, text in environ.items() if variable.startswith(_PREFIX)}
    found = {own[variable]: text for variable, text in ours.items() if variable in own}
    rest = [variable for variable in ours if variable not in own and not _SERVICE_LINK.fullmatch(variable)]
    return {**_read_foreign(rest, environ), **found} if rest else found


def _read_foreign(variables: list[str], environ: Mapping[str, str]) -> dict[str, str]:
    from tidelog.kafka.configs.unknown import variable_names

    known = variable_names()
    return {known.get(variable, variable): environ[variable] for variable in variables}
