"""The Java client, in the shape of Kafka's own tools: console producer and consumer, topics, configs, offsets."""

import pytest

from tests.support.kafka_jars import kafka_jars, run_java
from tests.support.stock_clients.interface import CODECS, Message
from tests.support.stock_clients.librdkafka import Confluent

pytestmark = pytest.mark.timeout(600)

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
PRODUCER = "kafka.tools.ConsoleProducer"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"

LINES = [f"key-{number}\tvalue-{number}" for number in range(50)]


@pytest.fixture(scope="module", autouse=True)
def jars() -> None:
    kafka_jars()


def read_all(bootstrap: str, topic: str, count: int, *more: str) -> list[str]:
    # By partition and offset: without a group, and so without a coordinator.
    output = run_java(
        CONSUMER,
        *("--bootstrap-server", bootstrap, "--topic", topic, "--partition", "0", "--max-messages", str(count)),
        *("--timeout-ms", "30000", "--property", "print.key=true", *(more or ("--offset", "earliest"))),
    )
    return output.splitlines()


@pytest.mark.parametrize("codec", CODECS)
def test_the_console_producer_writes_and_the_console_consumer_reads(bootstrap: str, topic: str, codec: str) -> None:
    run_java(
        PRODUCER,
        *("--bootstrap-server", bootstrap, "--topic", topic, "--compression-codec", codec, "--timeout", "10"),
        *("--property", "parse.key=true"),
        given="\n".join(LINES) + "\n",
    )
    assert read_all(bootstrap, topic, len(LINES)) == LINES
    messages = Confluent().consume(bootstrap, topic, 0, len(LINES))
    assert [f"{(one.key or b'').decode()}\t{(one.value or b'').decode()}" for one in messages] == LINES


def test_the_console_consumer_reads_from_the_middle_what_others_wrote(bootstrap: str, topic: str) -> None:
    sent = [Message(b"k%d" % number, b"v%d" % number, 1000, (("h", b"x"),)) for number in range(20)]
    Confluent().produce(bootstrap, topic, sent, "zstd", idempotent=True)
    found = read_all(bootstrap, topic, 5, "--offset", "15", "--property", "print.headers=true")
    assert found == [f"h:x\tk{number}\tv{number}" for number in range(15, 20)]


def test_topics_are_created_described_grown_and_deleted(bootstrap: str, topic: str) -> None:
    server = ("--bootstrap-server", bootstrap)
    run_java(TOPICS, *server, "--create", "--topic", topic, "--partitions", "2", "--replication-factor", "1")
    run_java(TOPICS, *server, "--alter", "--topic", topic, "--partitions", "5")
    assert "PartitionCount: 5" in run_java(TOPICS, *server, "--describe", "--topic", topic)
    run_java(TOPICS, *server, "--delete", "--topic", topic)
    assert topic not in run_java(TOPICS, *server, "--list").splitlines()


def test_configs_are_changed_and_described(bootstrap: str, topic: str) -> None:
    Confluent().create(bootstrap, topic, 1, {})
    entity = ("--bootstrap-server", bootstrap, "--entity-type", "topics", "--entity-name", topic)
    run_java(CONFIGS, *entity, "--alter", "--add-config", "retention.ms=12345,cleanup.policy=[compact,delete]")
    described = run_java(CONFIGS, *entity, "--describe")
    assert "retention.ms=12345" in described
    assert "cleanup.policy=compact,delete" in described
    run_java(CONFIGS, *entity, "--alter", "--delete-config", "retention.ms")
    assert "retention.ms" not in run_java(CONFIGS, *entity, "--describe")


def test_the_performance_tool_writes_and_offsets_tell_how_much(bootstrap: str, topic: str) -> None:
    Confluent().create(bootstrap, topic, 1, {})
    output = run_java(
        PERFORMANCE,
        *("--topic", topic, "--num-records", "20000", "--record-size", "200", "--throughput", "-1"),
        *("--producer-props", f"bootstrap.servers={bootstrap}", "acks=all"),
    )
    assert "20000 records sent" in output
    offsets = run_java(OFFSETS, "--bootstrap-server", bootstrap, "--topic", topic, "--time", "-1")
    assert offsets.strip() == f"{topic}:0:20000"
