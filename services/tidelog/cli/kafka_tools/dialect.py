"""The flags of Kafka's tools, and the clusters that they name in their several ways."""

import argparse
import asyncio
import re
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import typer

from tidelog.cli.target import Target, target_of_environment, timeout_of_environment
from tidelog.local.faults import LocalError, WrongUsageError
from tidelog.runtime.properties import parse_properties


class Flags(argparse.ArgumentParser):
    """The parser of one tool: faults are sentences, and flags that only Java needs are taken and forgotten."""

    def __init__(self, tool: str, text: str, examples: Sequence[str]) -> None:
        lines = "\n".join(f"- `tidelog {tool} {example}`" for example in examples)
        super().__init__(
            prog=f"tidelog {tool}",
            description=text,
            epilog=f"Examples:\n\n{lines}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.tool = tool

    def error(self, message: str) -> NoReturn:
        raise WrongUsageError(f"{message}: see `{self.prog} --help`.")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:  # noqa: ARG002 - argparse's signature
        raise typer.Exit(status)

    def flags(self, *names: str) -> None:
        """Options that are there or not."""
        for name in names:
            self.add_argument(f"--{name}", action="store_true")

    def values(self, *names: str) -> None:
        """Options with one value."""
        for name in names:
            self.add_argument(f"--{name}", metavar="VALUE")

    def numbers(self, **names: int | None) -> None:
        """Options with a number, and their defaults."""
        for name, default in names.items():
            self.add_argument(f"--{name.replace('_', '-')}", type=int, default=default, metavar="N")

    def lists(self, *names: str) -> None:
        """Options that may be repeated."""
        for name in names:
            self.add_argument(f"--{name}", action="append", default=[], metavar="VALUE")

    def ignored(self, *names: str) -> None:
        """Options with a value that mean nothing here."""
        for name in names:
            self.add_argument(f"--{name}", help=argparse.SUPPRESS)

    def addresses(self, *, config: str = "command-config") -> None:
        """Where the cluster is, in every way that Kafka's tools had over the years."""
        self.add_argument("--bootstrap-server", metavar="HOST:PORT,...", help="brokers to ask first")
        self.add_argument("--broker-list", metavar="HOST:PORT,...", help="the same, as older tools called it")
        self.add_argument("--zookeeper", metavar="HOST:PORT", help="ask ZooKeeper for the brokers")
        names = dict.fromkeys((f"--{config}", "--command-config"))
        self.add_argument(*names, dest="client_config", metavar="FILE", help="settings of the client")


def one_of(parser: Flags, given: argparse.Namespace, *names: str) -> str:
    """The one action among several flags."""
    chosen = [name for name in names if getattr(given, name.replace("-", "_"))]
    if len(chosen) != 1:
        parser.error(f"exactly one of {', '.join('--' + name for name in names)} is wanted")
    return chosen[0]


def needed(parser: Flags, value: Any, name: str) -> Any:
    """The value of an option that must be there."""
    if value is None or value == []:
        parser.error(f"--{name} is wanted")
    return value


def client_settings(path: str | None) -> dict[str, str]:
    """The properties file of a client; settings of security, of which there is none, would be refused by the client."""
    if path is None:
        return {}
    try:
        return dict(parse_properties(Path(path).read_text("utf-8")))
    except OSError as error:
        raise LocalError(f"{path} cannot be read ({error.strerror}).") from None
    except ValueError as error:
        raise WrongUsageError(f"{path} is not a properties file: {error}.") from None


def target_of(
    given: argparse.Namespace, *, timeout_s: float | None = None, settings: Mapping[str, str] | None = None
) -> Target:
    """The cluster that the flags name; without any, the one that other commands would speak with."""
    timeout_s = timeout_of_environment() if timeout_s is None else timeout_s
    server = given.bootstrap_server or getattr(given, "broker_list", None)
    if server is None and getattr(given, "zookeeper", None):
        from tidelog.cli.zookeeper_brokers import brokers_behind

        server = asyncio.run(brokers_behind(given.zookeeper, timeout_s))
    return target_of_environment(server, {**client_settings(given.client_config), **(settings or {})}, timeout_s)


def milliseconds(given: int | None) -> float | None:
    """The seconds of a --timeout of Kafka's tools."""
    return None if given is None else given / 1000


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a tool to its end."""
    asyncio.run(work)


def matching(names: Sequence[str], pattern: str | None) -> list[str]:
    """The names that a topic flag means: it is a regular expression, and one name is one, too."""
    if pattern is None:
        return list(names)
    try:
        expression = re.compile(pattern.replace(",", "|"))
    except re.error as error:
        raise WrongUsageError(f"{pattern!r} is not a regular expression ({error}).") from None
    return [name for name in names if name == pattern or expression.fullmatch(name)]
