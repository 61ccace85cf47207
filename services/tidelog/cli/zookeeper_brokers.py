"""Finds brokers where Kafka's older tools looked for them: in ZooKeeper."""

import asyncio

from tidelog.local.cluster import check_zookeeper
from tidelog.local.faults import UnreachableError


async def brokers_behind(connect: str, timeout_s: float) -> str:
    """The `bootstrap.servers` of the cluster that is registered there; UnreachableError if there is none."""
    from tidelog.zk.errors import ZkError
    from tidelog.zk.session import ZkSession
    from tidelog.zk.znodes.membership import BROKER_IDS, BrokerIdZnode

    address = connect if ":" in connect.partition("/")[0] else f"{connect}:2181"
    check_zookeeper(address)
    try:
        async with asyncio.timeout(timeout_s), ZkSession(address) as zk:
            names = (await zk.children(BROKER_IDS)).names
            nodes = await zk.get_many(f"{BROKER_IDS}/{name}" for name in names)
    except (TimeoutError, ZkError) as error:
        raise UnreachableError(f"No brokers could be found in the ZooKeeper at {connect} ({error}).") from None
    found = [BrokerIdZnode.decode(node.data) for node in nodes if node is not None]
    servers = [f"{each.host}:{each.port}" for each in found if each.host]
    if not servers:
        raise UnreachableError(f"No broker is registered in the ZooKeeper at {connect}.")
    return ",".join(servers)
