"""Commands that are imported when they are called, so that none waits for the libraries of the others."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup
from typer.main import get_command

_UNREAD = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


@dataclass(frozen=True, slots=True)
class Lazy:
    """Where a command is written down: a function, or a `typer.Typer` with commands of its own."""

    module: str
    attribute: str
    panel: str

    def load(self, name: str) -> Any:
        found = getattr(importlib.import_module(self.module), self.attribute)
        command = get_command(found if isinstance(found, typer.Typer) else _alone(name, found))
        command.name = name
        # It is an attribute of commands and of groups, but of no type that they share.
        vars(command)["rich_help_panel"] = self.panel
        return command


@dataclass(frozen=True, slots=True)
class Passed(Lazy):
    """A command that reads its arguments itself; nothing is imported before it runs."""

    help: str = ""

    def load(self, name: str) -> Any:
        app = typer.Typer(add_completion=False)

        @app.command(name, help=self.help, add_help_option=False, context_settings=_UNREAD)
        def run(context: typer.Context) -> None:
            getattr(importlib.import_module(self.module), self.attribute)(context.args)

        command = get_command(app)
        vars(command)["rich_help_panel"] = self.panel
        return command


class LazyGroup(TyperGroup):
    """A group that knows the names of its commands, and the commands themselves once they are asked for."""

    lazy: ClassVar[Mapping[str, Lazy]] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.lazy, *(name for name in super().list_commands(ctx) if name not in self.lazy)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in self.lazy and cmd_name not in self.commands:
            self.commands[cmd_name] = self.lazy[cmd_name].load(cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A name that is not known is compared with all that are, so all must be there."""
        if args and args[0] not in self.commands and args[0] not in self.lazy:
            for name in self.lazy:
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)


def noun(name: str, text: str) -> typer.Typer:
    """A thing with verbs: `tidelog topics create`, `tidelog topics list`."""
    app = typer.Typer(
        name=name,
        help=text,
        no_args_is_help=True,
        rich_markup_mode="markdown",
        add_completion=False,
        context_settings=HELP_OPTIONS,
    )

    @app.callback(help=text)
    def _noun() -> None:
        """Without a callback, a noun with a single verb would be taken for the verb."""

    return app


def _alone(name: str, function: Callable[..., None]) -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode="markdown", context_settings=HELP_OPTIONS)
    app.command(name)(function)
    return app
