"""Ends with 1, and says why, if brokers that would be taken away still hold replicas.

may_scale_down.py BOOTSTRAP COUNT      brokers 0 to COUNT - 1 stay
"""

import asyncio
import sys

from tidelog.kafka.wire.messages.metadata import MetadataRequest
from tidelog.net.connection import Connection


async def held(bootstrap: str, count: int) -> dict[int, list[str]]:
    """The partitions that each broker to be taken away has a replica of."""
    host, _, port = bootstrap.rpartition(":")
    connection = await Connection.open(host, int(port), client_id="scale-down-guard", timeout_s=10)
    answer = await connection.call(MetadataRequest(topics=None, allow_auto_topic_creation=False), 9, timeout_s=30)
    connection.close()
    found: dict[int, list[str]] = {}
    for topic in answer.topics:
        for partition in topic.partitions:
            for broker in partition.replica_nodes:
                if broker >= count:
                    found.setdefault(broker, []).append(f"{topic.name}-{partition.partition_index}")
    return found


def main(bootstrap: str, count: int) -> None:
    found = asyncio.run(held(bootstrap, count))
    for broker, partitions in sorted(found.items()):
        print(f"broker {broker} holds {len(partitions)} replicas, such as {', '.join(partitions[:5])}")
    if found:
        sys.exit(f"Not scaling down to {count} brokers: move these replicas away first (tidelog reassign).")
    print(f"brokers from {count} on hold no replicas")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
