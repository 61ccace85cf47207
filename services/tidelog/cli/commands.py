"""Every command by name, in the order and under the headings of `tidelog --help`."""

from tidelog.cli.kafka_tools.table import TOOLS
from tidelog.cli.lazily import Lazy, Passed

_LOCAL = "A cluster on this machine"
_DATA = "Topics and records"
_CLUSTER = "The state of a cluster"
_TRY = "Measure and try out"
_FILES = "Files of a broker"
_KAFKA = "Kafka's own command lines"


def _lazy(panel: str, **commands: str) -> dict[str, Lazy]:
    """`name="module:attribute"`, the module being one of this package."""
    found = {}
    for name, place in commands.items():
        module, _, attribute = place.partition(":")
        found[name.replace("_", "-")] = Lazy(f"tidelog.cli.{module}", attribute or module, panel)
    return found


COMMANDS: dict[str, Lazy] = {
    **_lazy(_LOCAL, up="up", down="down", status="status", kill="kill", start="start", chaos="chaos"),
    **_lazy(_DATA, topics="topics", produce="produce", consume="consume", groups="groups", offsets="offsets"),
    **_lazy(
        _CLUSTER,
        health="health",
        may_stop="health:may_stop",
        configs="configs",
        reassign="reassign",
        elect_leaders="elect_leaders",
        txn="txn",
        context="context",
        debug="debug",
    ),
    **_lazy(_TRY, bench="bench", demo="demos.commands:demo"),
    **_lazy(_FILES, log="log"),
    **{name: Passed(tool.module, tool.function, _KAFKA, tool.help) for name, tool in TOOLS.items()},
}
