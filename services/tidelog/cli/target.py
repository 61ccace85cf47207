"""Which cluster a command speaks with, and the clients with which it does."""

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidelog.cli.contexts import contexts_file, load_contexts
from tidelog.cli.options import DEFAULT_DATA_DIR
from tidelog.cli.parsing import pairs
from tidelog.local.data_dir import DataDir
from tidelog.local.faults import UnreachableError, WrongUsageError
from tidelog.local.layout import Role
from tidelog.local.pids import is_alive, load_ref
from tidelog.local.shape_file import load_shape

if TYPE_CHECKING:
    from tidelog.client import Admin, Consumer, Producer

_PANEL = "Which cluster"
DEFAULT_TIMEOUT_S = 15.0
TIMEOUT_VARIABLE = "TIDELOG_TIMEOUT"

_ServerOption = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        "-b",
        envvar="TIDELOG_BOOTSTRAP_SERVER",
        metavar="HOST:PORT,...",
        help="Brokers to ask first.",
        rich_help_panel=_PANEL,
        show_default="the current context, else the cluster of `tidelog up`",
    ),
]
_ContextOption = Annotated[
    str | None,
    typer.Option(
        "--context",
        envvar="TIDELOG_CONTEXT",
        metavar="NAME",
        help="A cluster saved with `tidelog context add`.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
_DataDirOption = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        envvar="TIDELOG_DATA_DIR",
        metavar="DIR",
        help="Speak with the cluster of `tidelog up` in this directory.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
_SettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "-X", "--set", metavar="KEY=VALUE", help="A setting of the client.", rich_help_panel=_PANEL, show_default=False
    ),
]
_TimeoutOption = Annotated[
    float,
    typer.Option(
        "--timeout",
        envvar=TIMEOUT_VARIABLE,
        min=0.001,
        metavar="SECONDS",
        help="How long to try.",
        rich_help_panel=_PANEL,
    ),
]


@dataclass(frozen=True, slots=True)
class Target:
    """A cluster to speak with, and how long to try. Its clients are made here, so that settings reach all of them."""

    bootstrap_server: str
    settings: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = DEFAULT_TIMEOUT_S

    @property
    def timeout_ms(self) -> int:
        return max(1, int(self.timeout_s * 1000))

    def admin(self) -> "Admin":
        from tidelog.client import Admin

        return Admin(self._all({"default.api.timeout.ms": self.timeout_ms}, self.settings))

    def producer(self, settings: Mapping[str, Any] | None = None, **options: Any) -> "Producer":
        from tidelog.client import Producer

        bounds = {"max.block.ms": self.timeout_ms, "delivery.timeout.ms": max(120_000, self.timeout_ms)}
        return Producer(self._all(bounds, {**self.settings, **(settings or {})}), **options)

    def consumer(self, settings: Mapping[str, Any] | None = None, **options: Any) -> "Consumer":
        from tidelog.client import Consumer

        bounds = {"default.api.timeout.ms": self.timeout_ms}
        return Consumer(self._all(bounds, {**self.settings, **(settings or {})}), **options)

    def _all(self, bounds: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
        basics = {"bootstrap.servers": self.bootstrap_server, "request.timeout.ms": self.timeout_ms}
        return {"client.id": "tidelog-cli", **basics, **bounds, **settings}


def choose_target(
    server: str | None,
    context: str | None = None,
    data_dir: Path | None = None,
    settings: Mapping[str, str] | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> Target:
    """What is named wins, then the current context, then the cluster of `tidelog up` if it runs."""
    given = settings or {}
    if server is not None:
        return Target(server, given, timeout_s)
    if context is not None or data_dir is None:
        contexts = load_contexts(contexts_file())
        name = context or contexts.current
        if name is not None:
            saved = contexts.named(name)
            return Target(saved.bootstrap_server, {**saved.settings, **given}, timeout_s)
    return Target(local_bootstrap(data_dir or DEFAULT_DATA_DIR), given, timeout_s)


def target_of_environment(server: str | None, settings: Mapping[str, str], timeout_s: float) -> Target:
    """For command lines that have no options of ours: the same choice by environment variables."""
    data_dir = os.environ.get("TIDELOG_DATA_DIR")
    return choose_target(
        server or os.environ.get("TIDELOG_BOOTSTRAP_SERVER"),
        os.environ.get("TIDELOG_CONTEXT"),
        Path(data_dir) if data_dir else None,
        settings,
        timeout_s,
    )


def timeout_of_environment() -> float:
    """How long such command lines try; Kafka's tools have no option for it."""
    text = os.environ.get(TIMEOUT_VARIABLE, "")
    try:
        return max(0.001, float(text)) if text else DEFAULT_TIMEOUT_S
    except ValueError:
        raise WrongUsageError(f"{TIMEOUT_VARIABLE} is a number of seconds, not {text!r}.") from None


def local_bootstrap(root: Path) -> str:
    """The brokers of the cluster on this machine; UnreachableError if it does not run."""
    data_dir = DataDir(root.expanduser().absolute())
    shape = load_shape(data_dir.cluster_file)
    if shape is None:
        raise UnreachableError(
            f"There is no cluster in {data_dir.root}: start one with `tidelog up`, or name --bootstrap-server."
        )
    refs = [load_ref(data_dir.pid_file(broker)) for broker in shape.of(Role.BROKER)]
    if not any(ref is not None and is_alive(ref) for ref in refs):
        raise UnreachableError(f"The cluster in {data_dir.root} is not running: start it with `tidelog up`.")
    return shape.bootstrap


def speaks(command: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a command of a coroutine function whose first parameter is the Target; adds the options that choose it."""

    @wraps(command)
    def run(
        *,
        bootstrap_server: str | None,
        context: str | None,
        data_dir: Path | None,
        setting: list[str] | None,
        timeout: float,
        **options: Any,
    ) -> None:
        target = choose_target(bootstrap_server, context, data_dir, pairs(setting or [], "--set"), timeout)
        asyncio.run(_as_coroutine(command(target, **options)))

    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    chosen = [
        _option("bootstrap_server", _ServerOption, None),
        _option("context", _ContextOption, None),
        _option("data_dir", _DataDirOption, None),
        _option("setting", _SettingOption, None),
        _option("timeout", _TimeoutOption, DEFAULT_TIMEOUT_S),
    ]
    parameters = [*(each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own), *chosen]
    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


async def _as_coroutine(waiting: Awaitable[None]) -> None:
    await waiting


def _option(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
