"""Kafka's tools by name: where each of them is, and what it does in one line."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that takes the arguments as they are."""

    module: str
    function: str
    help: str


def _tool(place: str, text: str) -> Tool:
    module, _, function = place.partition(":")
    return Tool(f"tidelog.cli.kafka_tools.{module}", function or "main", text)


TOOLS = {
    "kafka-topics": _tool("topics", "Create, delete, describe, or change a topic."),
    "kafka-console-producer": _tool("console_producer", "Send each line of the standard input as a record."),
    "kafka-console-consumer": _tool("console_consumer", "Print the records of a topic."),
    "kafka-consumer-groups": _tool("consumer_groups", "List, describe and delete groups, reset their offsets."),
    "kafka-configs": _tool("configs", "See and change settings of topics, brokers, clients and users."),
    "kafka-reassign-partitions": _tool("reassign_partitions", "Move replicas between brokers."),
    "kafka-leader-election": _tool("leader_election", "Elect leaders of partitions."),
    "kafka-get-offsets": _tool("get_offsets", "Print the offsets of partitions."),
    "kafka-dump-log": _tool("dump_log", "Print what is in the files of a log."),
    "kafka-producer-perf-test": _tool("perf:producer_main", "Measure how fast records go in."),
    "kafka-consumer-perf-test": _tool("perf:consumer_main", "Measure how fast records go out."),
    "kafka-simple-consumer-shell": _tool("console_consumer:shell_main", "Print the records of one partition."),
    "kafka-run-class": _tool("run_class", "Run a tool by the name of its class."),
    "zookeeper-server-start": _tool("servers:zookeeper_main", "Run a ZooKeeper in the foreground."),
    "kafka-server-start": _tool("servers:kafka_main", "Run one broker, with all that a broker needs."),
    "kafka-server-stop": _tool("servers:stop_main", "Stop what kafka-server-start started."),
}
