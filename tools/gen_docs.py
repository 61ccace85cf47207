"""Write the pages under docs/ that are made from the code, or with --check only compare them."""

import argparse
import ast
import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from inspect import cleandoc, getsource
from pathlib import Path
from types import ModuleType

from tidelog.broker import wire
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.configs.controller import ControllerConfig
from tidelog.kafka.configs.group_coordinator import GroupCoordinatorConfig
from tidelog.kafka.configs.metadata import MetadataConfig
from tidelog.kafka.configs.setting import Setting, UpdateMode, settings_of
from tidelog.kafka.configs.topic import TopicConfig
from tidelog.kafka.wire.schema import Api
from tidelog.kafka.wire.versions import Versions
from tidelog.net import api_versions
from tidelog.runtime.metrics import Metrics

DOCS = Path(__file__).resolve().parent.parent / "docs"
SERVICES = DOCS.parent / "services"

_CONFIG_OPENING = """\
# Settings

Every process reads its settings once, when it starts: the default, or else the value in the file of `--config FILE`, or
else the environment's, or else the one of `--set KEY=VALUE`. The file is written as Kafka's `server.properties` is. The
environment variable of a setting is `TIDELOG_` and its name in capitals with `_` for `.`: `log.segment.bytes` is
`TIDELOG_LOG_SEGMENT_BYTES`.

A value that is not allowed stops the process, and all such values are listed at once. A setting that only Kafka has, or
that nobody knows, is ignored with a warning. *Dynamic* tells whether a running cluster can change the setting: for one
broker, for all of them, or not at all.
"""

_SECTIONS: tuple[tuple[str, str, type], ...] = (
    ("Broker", "`tidelog broker`", BrokerConfig),
    ("Controller", "`tidelog controller`", ControllerConfig),
    ("Group coordinator", "`tidelog group-coordinator`", GroupCoordinatorConfig),
    ("Metadata", "`tidelog metadata`", MetadataConfig),
)


def config_page() -> str:
    """The page of all settings, a table for each process and one for topics."""
    return "\n".join([_CONFIG_OPENING, *(line for section in _SECTIONS for line in _process(*section)), *_topics()])


def _process(title: str, command: str, config_type: type) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"Settings of {command}.\n"
    yield "| name | type | default | allowed | dynamic | |"
    yield "|---|---|---|---|---|---|"
    for each in _by_name(config_type):
        cells = (f"`{each.name}`", each.kind.name, _default(each), each.check.allowed, _dynamic(each), each.doc)
        yield _row(*cells)
    yield ""


def _topics() -> Iterator[str]:
    yield "## Topic\n"
    yield "Settings of a topic, which can be changed at any time; where one is not set, the broker's setting holds.\n"
    yield "| name | type | default | allowed | broker's setting | |"
    yield "|---|---|---|---|---|---|"
    for each in _by_name(TopicConfig):
        synonyms = ", ".join(f"`{name}`" for name in each.synonyms)
        yield _row(f"`{each.name}`", each.kind.name, _default(each), each.check.allowed, synonyms, each.doc)


def _by_name(config_type: type) -> list[Setting]:
    return sorted(settings_of(config_type).values(), key=lambda each: each.name)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(each: Setting) -> str:
    if each.is_required:
        return "**required**"
    text = each.text(each.default)
    return f"`{text}`" if text else "*empty*" if text == "" else "*none*"


def _dynamic(each: Setting) -> str:
    return "" if each.update_mode is UpdateMode.READ_ONLY else each.update_mode.value


_WIRE_OPENING = """\
# The Kafka wire

The APIs that a broker offers on its Kafka listeners, with the versions of each. What is not in the table is not offered:
a request for it closes the connection, and clients do not send it because ApiVersions does not list it.
"""
_OFFERING = ("ServedApi", "ServedFrames")


@dataclass(frozen=True, slots=True)
class OfferedApi:
    """An API as a file of broker/wire offers it: what it says of versions, and what else there is to know."""

    api: Api
    versions: Versions
    by_version: str
    notes: str


def wire_page() -> str:
    """The page of all APIs: a table, then what each version of each added."""
    offered = sorted(_offered_apis(), key=lambda one: one.api.key)
    rows = (_row(str(one.api.key), one.api.name, _range(one.versions), " ".join(one.notes.split())) for one in offered)
    sections = (f"### {one.api.name} ({one.api.key})\n\n{one.by_version}\n" for one in offered if one.by_version)
    table = ["| key | API | versions | |", "|---|---|---|---|", *rows, ""]
    return "\n".join([_WIRE_OPENING, *table, "## What each version added\n", *sections]).rstrip("\n") + "\n"


def _range(versions: Versions) -> str:
    return str(versions) if versions.low < versions.high else str(versions.low)


def _offered_apis() -> Iterator[OfferedApi]:
    found = pkgutil.walk_packages(wire.__path__, f"{wire.__name__}.")
    # ApiVersions comes with every listener, whatever else is served there.
    for module in (api_versions, *(importlib.import_module(one.name) for one in found)):
        for api, versions in _offers(module):
            _title, _, text = cleandoc(module.__doc__ or "").partition("\n\n")
            by_version, _, notes = text.partition("\n\n")
            yield OfferedApi(api, versions, by_version, notes)


def _offers(module: ModuleType) -> Iterator[tuple[Api, Versions]]:
    """Where the file makes a ServedApi or ServedFrames, the first two arguments tell what it offers."""
    for node in ast.walk(ast.parse(getsource(module))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OFFERING:
            api, versions = (eval(ast.unparse(argument), vars(module)) for argument in node.args[:2])
            yield api, versions


_METRICS_OPENING = """\
# Metrics

Every process tells its metrics in the text format of Prometheus at `/metrics` of its `ops.listener` (a metadata process:
of its `http.listener`). What Kafka has keeps the name that dashboards for Kafka know it by; what is ours starts with
`tidelog_`. A histogram has `_bucket`, `_count` and `_sum`. A summary has `_count` and `_sum`; summaries of times also have
quantiles, those of the last minute or two. Topics, partitions and APIs that were never used have no series.
"""
# By package: whose metrics it declares.
_METRIC_SECTIONS = (
    ("tidelog.runtime", "Every process"),
    ("tidelog.zk", "Every process with a ZooKeeper session"),
    ("tidelog.net", "Kafka listeners"),
    ("tidelog.broker", "Broker"),
    ("tidelog.controller", "Controller"),
    ("tidelog.group_coordinator", "Group coordinator"),
    ("tidelog.metadata", "Metadata"),
)
_METRIC_KINDS = ("counter", "gauge", "histogram", "summary")


@dataclass(frozen=True, slots=True)
class DeclaredMetric:
    """A metric as the code that counts declares it."""

    name: str
    kind: str
    labels: tuple[str, ...]
    doc: str


def metrics_page() -> str:
    """The page of all metrics, a table for each process and for what several of them have."""
    sections = (
        (title, sorted(_declared_metrics(package), key=lambda one: one.name)) for package, title in _METRIC_SECTIONS
    )
    lines = [line for title, found in sections if found for line in _metric_table(title, found)]
    return "\n".join([_METRICS_OPENING, *lines, *_metric_table("Python and the operating system", _library_metrics())])


def _metric_table(title: str, metrics: Iterable[DeclaredMetric]) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| name | type | labels | |"
    yield "|---|---|---|---|"
    for one in metrics:
        yield _row(f"`{one.name}`", one.kind, ", ".join(f"`{label}`" for label in one.labels), one.doc)
    yield ""


def _declared_metrics(package: str) -> Iterator[DeclaredMetric]:
    """Wherever a file of the package calls counter, gauge, histogram or summary with a name that is written out."""
    folder = SERVICES.joinpath(*package.split("."))
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _called(node.func) in _METRIC_KINDS and _is_text(node.args[:2]):
                name, doc, *labels = (ast.literal_eval(argument) for argument in node.args[:3])
                yield DeclaredMetric(name, _called(node.func), tuple(*labels), doc)


def _called(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _is_text(arguments: list[ast.expr]) -> bool:
    return len(arguments) == 2 and all(
        isinstance(one, ast.Constant) and isinstance(one.value, str) for one in arguments
    )


def _library_metrics() -> list[DeclaredMetric]:
    """What the library for metrics adds by itself; the process's own are already listed."""
    own = {metric.name for metric in _declared_metrics("tidelog.runtime")}
    return [
        DeclaredMetric(
            metric.name + ("_total" if metric.type == "counter" else ""),
            metric.type,
            tuple(sorted({label for sample in metric.samples for label in sample.labels})),
            metric.documentation,
        )
        for metric in Metrics("any").registry.collect()
        if metric.name not in own
    ]


# Another generated page is one more line here.
PAGES: dict[str, Callable[[], str]] = {
    "config.md": config_page,
    "wire-support.md": wire_page,
    "metrics.md": metrics_page,
}


def stale_pages(docs: Path) -> list[str]:
    """The names of pages that are missing or not what the code says."""
    return [name for name, page in PAGES.items() if not _is_fresh(docs / name, page())]


def _is_fresh(file: Path, text: str) -> bool:
    return file.exists() and file.read_text("utf-8") == text


def write_pages(docs: Path) -> None:
    docs.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (docs / name).write_text(page(), "utf-8")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Write the pages under docs/ that are made from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is not up to date")
    if not parser.parse_args(argv).check:
        write_pages(DOCS)
        return 0
    stale = stale_pages(DOCS)
    if stale:
        print(f"{', '.join(f'docs/{name}' for name in stale)} is stale: run tools/gen_docs.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
