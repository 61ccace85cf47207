"""The command line as a whole: its commands, and the one place where errors become sentences and exit codes."""

import os
import sys
import traceback
from typing import Annotated

import typer

from tidelog.__main__ import SERVICES, run_service
from tidelog.cli.commands import COMMANDS
from tidelog.cli.lazily import HELP_OPTIONS, LazyGroup
from tidelog.local.faults import LocalError

_SERVICES_PANEL = "One service in the foreground (for containers and supervisors)"
_EPILOG = (
    "Exit codes: 0 done, 1 the cluster refused, 2 wrong usage, 3 the cluster cannot be reached. "
    "`tidelog COMMAND --help` has examples."
)
_BUG = 1


class _Commands(LazyGroup):
    lazy = COMMANDS


app = typer.Typer(
    name="tidelog",
    cls=_Commands,
    help="A Kafka-compatible log cluster. Start with `tidelog up`, and point any Kafka client at localhost:9092.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings=HELP_OPTIONS,
)


def _add_service(role: str) -> None:
    """List a service in --help; `tidelog.__main__` runs it before this module is even imported."""

    @app.command(
        role,
        rich_help_panel=_SERVICES_PANEL,
        help=f"Run one {role} process until SIGTERM; `tidelog {role} --help` lists its options.",
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )
    def service(context: typer.Context) -> None:
        raise typer.Exit(run_service(role, context.args))


for name in SERVICES:
    _add_service(name)


def _version(given: bool) -> None:
    if given:
        from importlib.metadata import version

        print(f"tidelog {version('tidelog')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    assert not version, "the option's callback has ended the command"


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; nothing but sentences reaches the user."""
    try:
        app(args=arguments, prog_name="tidelog", standalone_mode=False)
    except typer.Exit as ended:
        return ended.exit_code
    except LocalError as fault:
        return _tell(str(fault), fault.exit_code)
    except typer.TyperException as refused:
        # Without any argument the help was printed, and there is nothing to add to it.
        return _tell(_usage_sentence(refused, arguments), refused.exit_code) if arguments else refused.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _tell("Interrupted.", LocalError.exit_code)
    except BrokenPipeError:
        # Whoever read our output has heard enough; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - the edge: a traceback helps no user
        from tidelog.cli.failures import sentence_of

        told = sentence_of(error)
        return _tell_bug(error) if told is None else _tell(*told)
    return 0


def _usage_sentence(refused: typer.TyperException, arguments: list[str]) -> str:
    """What was wrong, and where to read how it is done."""
    verb = next((argument for argument in arguments if not argument.startswith("-")), "")
    known = verb in COMMANDS or verb in SERVICES
    command = f"tidelog {verb}" if known else "tidelog"
    message = " ".join(refused.format_message().split()).rstrip(".")
    return f"{message}{' See' if message.endswith('?') else ': see'} `{command} --help`."


def _tell(sentence: str, exit_code: int) -> int:
    print(f"tidelog: {sentence}", file=sys.stderr)
    return exit_code


def _tell_bug(bug: Exception) -> int:
    if os.environ.get("TIDELOG_TRACEBACK"):
        traceback.print_exception(bug)
    return _tell(
        f"This is a bug in tidelog ({type(bug).__name__}: {bug}): run it again with TIDELOG_TRACEBACK=1 and report it.",
        _BUG,
    )
