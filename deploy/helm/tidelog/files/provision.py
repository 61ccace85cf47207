"""Makes topics and cluster-wide settings as it is told; what is so already is left, so it may run any number of times.

provision.py BOOTSTRAP WANTED       WANTED: {"brokers": 3, "topics": [{"name": ...}], "brokerConfigs": {"name": "value"}}
"""

import asyncio
import json
import sys
from typing import Any

from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.kafka.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.kafka.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.kafka.wire.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalConfig,
)
from tidelog.kafka.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponseTopic
from tidelog.net.connection import Connection, ConnectionLostError

TOPIC, BROKER = 2, 4  # kinds of resources that have settings
ALL_BROKERS = ""
_CALL_S_MAX = 40.0
_PAUSE_S = 1.0


class Refused(Exception):  # noqa: N818  named after what happened
    """The cluster does not do what was asked."""


async def main(bootstrap: str, wanted: dict[str, Any]) -> None:
    host, _, port = bootstrap.rpartition(":")
    connection = await _connected(host, int(port), wanted["brokers"])
    for topic in wanted["topics"]:
        await _provide(connection, topic)
    await _configure(connection, BROKER, ALL_BROKERS, wanted["brokerConfigs"])
    connection.close()


async def _connected(host: str, port: int, brokers: int) -> Connection:
    """A connection to a cluster that has all of its brokers, however long that takes: the job's deadline bounds it."""
    while True:
        try:
            connection = await Connection.open(host, port, client_id="provisioning", timeout_s=5)
            found = await connection.call(MetadataRequest(topics=[]), 9, timeout_s=5)
            if len(found.brokers) >= brokers:
                return connection
            print(f"{len(found.brokers)} of {brokers} brokers are there; waiting", flush=True)
            connection.close()
        except (OSError, ConnectionLostError) as error:
            print(f"no broker answers at {host}:{port} ({error}); waiting", flush=True)
        await asyncio.sleep(_PAUSE_S)


async def _provide(connection: Connection, topic: dict[str, Any]) -> None:
    name = topic["name"]
    found = await _find(connection, name)
    if found is None:
        await _create(connection, topic)
        return
    await _grow(connection, name, len(found.partitions), topic.get("partitions", 0))
    replicas = {len(partition.replica_nodes) for partition in found.partitions}
    if topic.get("replicationFactor", min(replicas)) not in replicas:
        print(f"topic {name} has {min(replicas)} replicas and is left so: replicas are moved by a reassignment")
    await _configure(connection, TOPIC, name, topic.get("config", {}))


async def _find(connection: Connection, name: str) -> MetadataResponseTopic | None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    found = (await connection.call(request, 9, timeout_s=_CALL_S_MAX)).topics[0]
    while found.error_code == KafkaCode.LEADER_NOT_AVAILABLE:  # a broker that has just started says so of every topic
        await asyncio.sleep(_PAUSE_S)
        found = (await connection.call(request, 9, timeout_s=_CALL_S_MAX)).topics[0]
    if found.error_code == KafkaCode.UNKNOWN_TOPIC_OR_PARTITION:
        return None
    _check(f"topic {name}", found.error_code, None)
    return found


async def _create(connection: Connection, topic: dict[str, Any]) -> None:
    name = topic["name"]
    configs = [CreatableTopicConfig(name=key, value=value) for key, value in topic.get("config", {}).items()]
    asked = CreatableTopic(
        name=name,
        num_partitions=topic.get("partitions", -1),
        replication_factor=topic.get("replicationFactor", -1),
        configs=configs,
    )
    answer = await connection.call(CreateTopicsRequest(topics=[asked], timeout_ms=30_000), 5, timeout_s=_CALL_S_MAX)
    result = answer.topics[0]
    if result.error_code != KafkaCode.TOPIC_ALREADY_EXISTS:  # somebody was faster
        _check(f"topic {name}", result.error_code, result.error_message)
    print(f"topic {name} created")


async def _grow(connection: Connection, name: str, has: int, wanted: int) -> None:
    if wanted < has:
        if wanted:
            print(f"topic {name} has {has} partitions and is left so: partitions cannot be taken away")
        return
    if wanted > has:
        asked = CreatePartitionsTopic(name=name, count=wanted, assignments=None)
        request = CreatePartitionsRequest(topics=[asked], timeout_ms=30_000)
        result = (await connection.call(request, 3, timeout_s=_CALL_S_MAX)).results[0]
        _check(f"topic {name}", result.error_code, result.error_message)
        print(f"topic {name} grew from {has} to {wanted} partitions")


async def _configure(connection: Connection, kind: int, name: str, wanted: dict[str, str]) -> None:
    what = f"topic {name}" if kind == TOPIC else "all brokers"
    has = await _settings(connection, kind, name, list(wanted)) if wanted else {}
    changes = {key: value for key, value in wanted.items() if has.get(key) != value}
    if not changes:
        print(f"{what}: as it should be")
        return
    configs = [IncrementalConfig(name=key, config_operation=0, value=value) for key, value in changes.items()]
    resource = IncrementalAlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource])
    result = (await connection.call(request, 1, timeout_s=_CALL_S_MAX)).responses[0]
    _check(what, result.error_code, result.error_message)
    print(f"{what}: set {', '.join(f'{key}={value}' for key, value in changes.items())}")


async def _settings(connection: Connection, kind: int, name: str, keys: list[str]) -> dict[str, str | None]:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    result = (await connection.call(DescribeConfigsRequest(resources=[resource]), 4, timeout_s=_CALL_S_MAX)).results[0]
    _check(name, result.error_code, result.error_message)
    return {config.name: config.value for config in result.configs}


def _check(what: str, code: int, message: str | None) -> None:
    if code != KafkaCode.NONE:
        raise Refused(f"{what}: {message or KafkaCode(code).name}")


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))
    except Refused as refusal:
        sys.exit(str(refusal))
