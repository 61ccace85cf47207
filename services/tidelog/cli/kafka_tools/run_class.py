"""`tidelog kafka-run-class`: tools by the names of their classes."""

import importlib

from tidelog.cli.kafka_tools.table import TOOLS
from tidelog.local.faults import WrongUsageError

EXAMPLE = "kafka.tools.DumpLogSegments --files data/test-0/00000000000000000000.log --print-data-log"
_CLASSES = {
    "DumpLogSegments": "kafka-dump-log",
    "GetOffsetShell": "kafka-get-offsets",
    "TopicCommand": "kafka-topics",
    "ConsumerGroupCommand": "kafka-consumer-groups",
    "ConfigCommand": "kafka-configs",
    "ReassignPartitionsCommand": "kafka-reassign-partitions",
    "LeaderElectionCommand": "kafka-leader-election",
    "ConsoleProducer": "kafka-console-producer",
    "ConsoleConsumer": "kafka-console-consumer",
    "SimpleConsumerShell": "kafka-simple-consumer-shell",
    "ProducerPerformance": "kafka-producer-perf-test",
    "ConsumerPerformance": "kafka-consumer-perf-test",
    "Kafka": "kafka-server-start",
    "QuorumPeerMain": "zookeeper-server-start",
}


def main(arguments: list[str]) -> None:
    """The class is known by the last part of its name, which moved between packages over the years."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print("Usage: tidelog kafka-run-class CLASS [FLAGS]\n\nClasses: " + ", ".join(sorted(_CLASSES)))
        print(f"\nExamples:\n\n- `tidelog kafka-run-class {EXAMPLE}`")
        return
    name = arguments[0].rpartition(".")[2]
    if name not in _CLASSES:
        raise WrongUsageError(f"{arguments[0]!r} is not known: the classes are {', '.join(sorted(_CLASSES))}.")
    tool = TOOLS[_CLASSES[name]]
    getattr(importlib.import_module(tool.module), tool.function)(arguments[1:])
