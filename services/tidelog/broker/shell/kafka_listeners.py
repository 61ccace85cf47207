"""The broker's front doors: one listener for each entry of `listeners`, all with the same APIs behind them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tidelog.broker.wire import describe_cluster, metadata
from tidelog.broker.wire.dispatch import Dispatcher
from tidelog.kafka.cluster import ClusterView
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.net.limits import Admission, ConnectionLimits
from tidelog.net.listener import Listener
from tidelog.runtime import logs

# How long answers that are due may take to go out when the broker stops.
_CLOSE_TIMEOUT_S = 2.0

_logger = logs.get("net")


@asynccontextmanager
async def kafka_listeners(config: BrokerConfig, view: ClusterView) -> AsyncIterator[None]:
    """Serve the Kafka wire until the context is left."""
    dispatcher = Dispatcher([metadata.served(view), describe_cluster.served(view)])
    limits, admission = _limits(config), _admission(config)
    opened: list[Listener] = []
    try:
        for endpoint in config.listeners:
            opened.append(await Listener.open(endpoint, dispatcher, limits=limits, admission=admission))
            _logger.info("listening", listener=endpoint.listener, port=opened[-1].port)
        yield
    finally:
        await asyncio.gather(*(listener.close(_CLOSE_TIMEOUT_S) for listener in opened))


def _limits(config: BrokerConfig) -> ConnectionLimits:
    return ConnectionLimits(
        request_bytes_max=config.socket_request_max_bytes,
        idle_ms_max=config.connections_max_idle_ms,
        send_buffer_bytes=config.socket_send_buffer_bytes,
        receive_buffer_bytes=config.socket_receive_buffer_bytes,
    )


def _admission(config: BrokerConfig) -> Admission:
    return Admission(config.max_connections, config.max_connections_per_ip, config.connection_limits)
