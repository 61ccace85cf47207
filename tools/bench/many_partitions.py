"""What a cluster of many partitions takes: to create them, to change its controller, to bounce a broker.

Times end when the thing waited for was seen from outside by a Kafka client: every partition has a leader; the next topic is
created; every partition has its whole in-sync set again. No partition has a record, so there is nothing to catch up with.
"""

import os
import time
from collections.abc import Callable
from typing import Any, Protocol

import confluent_kafka
import confluent_kafka.admin
import psutil

confluent_admin: Any = confluent_kafka.admin  # its types are incomplete

WITHOUT_COPIES = 1000
WITH_COPIES = 300
FURTHER_WITH_COPIES = 700
REPLICAS = 3
GIVE_UP_S = 120.0
_PAUSE_S = 0.02
_CALL_S = 30

AddSeconds = Callable[[str, float], None]


class Cluster(Protocol):
    """A cluster that is up."""

    def of(self, role: str) -> list[dict[str, Any]]: ...
    def start(self, role: str, id: int) -> None: ...


class ManyPartitions:
    """The measures, in an order in which each finds what the ones before have left."""

    def __init__(self, cluster: Cluster, add_seconds: AddSeconds) -> None:
        self._cluster = cluster
        self._add_seconds = add_seconds
        bootstrap = ",".join(broker["kafka"] for broker in cluster.of("broker"))
        self._admin = confluent_admin.AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
        self._partitions = 0

    def measure(self) -> None:
        self._add_seconds(
            f"create {WITHOUT_COPIES} partitions of one replica until all have leaders",
            self._create("without-copies", WITHOUT_COPIES, 1),
        )
        self._add_seconds(
            f"create {WITH_COPIES} partitions of {REPLICAS} replicas until all have leaders",
            self._create("with-copies", WITH_COPIES, REPLICAS),
        )
        self._create("further", FURTHER_WITH_COPIES, REPLICAS)
        self._wait(self._all_in_sync)
        self._add_seconds(
            f"SIGKILL of the active controller to the next topic created, {self._partitions} partitions",
            self._change_controller(),
        )
        stopped_s, started_s = self._bounce_broker()
        hosted = WITH_COPIES + FURTHER_WITH_COPIES
        self._add_seconds(f"SIGTERM of a broker of {hosted} replicas to its end", stopped_s)
        self._add_seconds(f"&nbsp;&nbsp;from its start until {hosted} in-sync sets are whole", started_s)

    def _create(self, topic: str, partitions: int, replicas: int) -> float:
        new = confluent_admin.NewTopic(topic, partitions, replicas)
        begun = time.monotonic()
        self._admin.create_topics([new], operation_timeout=_CALL_S)[topic].result(_CALL_S)
        self._wait(lambda: self._is_led(topic, partitions))
        self._partitions += partitions
        return time.monotonic() - begun

    def _is_led(self, topic: str, partitions: int) -> bool:
        found = self._admin.list_topics(topic, timeout=_CALL_S).topics[topic].partitions.values()
        return len(found) == partitions and all(one.leader >= 0 for one in found)

    def _change_controller(self) -> float:
        active = next(process for process in self._cluster.of("controller") if process.get("active"))
        begun = time.monotonic()
        os.kill(active["pid"], 9)
        self._wait(self._creates_a_topic)
        return time.monotonic() - begun

    def _creates_a_topic(self) -> bool:
        new = confluent_admin.NewTopic("after-the-change", 1, 1)
        try:
            self._admin.create_topics([new], request_timeout=1)[new.topic].result(_CALL_S)
        except confluent_kafka.KafkaException as error:
            # An answer may have been lost with the controller that was asked.
            if error.args[0].code() != confluent_kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                raise
        return True

    def _bounce_broker(self) -> tuple[float, float]:
        broker = self._cluster.of("broker")[0]
        begun = time.monotonic()
        process = psutil.Process(broker["pid"])
        process.terminate()
        self._wait(lambda: not _is_running(process))
        ended = time.monotonic()
        self._cluster.start("broker", broker["id"])
        self._wait(self._all_in_sync)
        return ended - begun, time.monotonic() - ended

    def _all_in_sync(self) -> bool:
        topics = self._admin.list_topics(timeout=_CALL_S).topics.values()
        return all(len(one.isrs) == len(one.replicas) for topic in topics for one in topic.partitions.values())

    def _wait(self, check: Callable[[], bool]) -> None:
        end = time.monotonic() + GIVE_UP_S
        while True:
            try:
                if check():
                    return
            except confluent_kafka.KafkaException as error:
                if time.monotonic() > end:
                    raise SystemExit(f"not so within {GIVE_UP_S:g} s: {error}") from error
            if time.monotonic() > end:
                raise SystemExit(f"not so within {GIVE_UP_S:g} s")
            time.sleep(_PAUSE_S)


def _is_running(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
