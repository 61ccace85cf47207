"""The command line that every service has: where its settings come from."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# The setting that names one process among those of its role.
ID_SETTINGS = {
    "broker": "broker.id",
    "controller": "controller.id",
    "group-coordinator": "coordinator.id",
    "metadata": "metadata.id",
}


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What the user asked for."""

    file: Path | None
    overrides: dict[str, str]


def parse(role: str, argv: Sequence[str]) -> CommandLine:
    """Raises SystemExit, as argparse does, after --help (0) or wrong usage (2)."""
    found = _parser(role).parse_args(list(argv))
    return CommandLine(found.config, dict(found.set))


def _parser(role: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"tidelog {role}",
        description=f"Run one {role} process in the foreground until SIGTERM or SIGINT.",
        epilog=_epilog(role),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", type=Path, help="read settings from FILE, one KEY=VALUE a line")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        type=_assignment,
        action="append",
        default=[],
        help="set one setting; may be repeated, and wins over the file and the environment",
    )
    return parser


def _assignment(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key.strip(), value


def _epilog(role: str) -> str:
    id_setting = ID_SETTINGS.get(role, f"{role}.id")
    variable = "TIDELOG_" + id_setting.upper().replace(".", "_")
    return f"""\
settings:
  Names are dotted, such as {id_setting}. A value comes from --set, or else from the
  environment ({variable}), or else from the file, or else is the default.
  Every setting is documented in docs/config.md.

examples:
  tidelog {role} --config {role}.properties
  tidelog {role} --set {id_setting}=1 --set zookeeper.connect=localhost:2181
  {variable}=1 tidelog {role} --config {role}.properties --set log.level=debug

exit codes:
  0 stopped cleanly, 1 failed or could not drain in shutdown.timeout.ms, 2 wrong usage or settings
"""
