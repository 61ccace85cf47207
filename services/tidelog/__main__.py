"""The `tidelog` command: starts a service at once, and leaves everything else to the command line interface.

A service's start-up time and memory count, so `tidelog broker ...` reaches the broker without importing typer or rich.
"""

import importlib
import os
import sys

SERVICES = {
    "broker": "tidelog.broker.__main__",
    "controller": "tidelog.controller.__main__",
    "group-coordinator": "tidelog.group_coordinator.__main__",
    "metadata": "tidelog.metadata.__main__",
}


def main() -> int:
    """Run the command in sys.argv and return its exit code."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in SERVICES:
        return run_service(arguments[0], arguments[1:])
    # Options are checked with pydantic, which would look for plugins in every package that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from tidelog.cli.app import run

    return run(arguments)


def run_service(role: str, arguments: list[str]) -> int:
    """Import the service of that name and run its main."""
    exit_code: int = importlib.import_module(SERVICES[role]).main(arguments)
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
