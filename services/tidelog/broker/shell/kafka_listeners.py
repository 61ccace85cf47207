"""The broker's front doors: one listener for each entry of `listeners`, all with the same APIs behind them."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial

from tidelog.broker.shell.auto_creation import AutoCreation
from tidelog.broker.shell.broker_loggers import BrokerLoggers
from tidelog.broker.shell.client_throttling import ClientThrottling
from tidelog.broker.shell.config_store import ConfigStore
from tidelog.broker.shell.controller_client import ControllerClient
from tidelog.broker.wire import (
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    create_partitions,
    create_topics,
    delete_topics,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    elect_leaders,
    incremental_alter_configs,
    list_partition_reassignments,
    metadata,
)
from tidelog.broker.wire.dispatch import Dispatcher
from tidelog.broker.wire.served import Served
from tidelog.kafka.cluster import ClusterView
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.net.limits import Admission, ConnectionLimits
from tidelog.net.listener import Listener
from tidelog.runtime import logs

# How long answers that are due may take to go out when the broker stops.
_CLOSE_TIMEOUT_S = 2.0

_logger = logs.get("net")


@asynccontextmanager
async def kafka_listeners(
    config: BrokerConfig,
    controller: ControllerClient,
    configs: ConfigStore,
    data_apis: Iterable[Served],
    creation: AutoCreation,
    throttling: ClientThrottling,
) -> AsyncIterator[None]:
    """Serve the Kafka wire until the context is left."""
    view = controller.mirror.view
    cluster_apis = [metadata.served(view, creation), describe_cluster.served(view)]
    topic_apis = _topic_apis(controller, configs, throttling)
    dispatcher = Dispatcher([*cluster_apis, *topic_apis, *data_apis, *_config_apis(view, configs)], throttling)
    limits, admission = _limits(config), _admission(config)
    configs.on_broker_changed(partial(_renew_admission, admission))
    opened: list[Listener] = []
    try:
        for endpoint in config.listeners:
            opened.append(await Listener.open(endpoint, dispatcher, limits=limits, admission=admission))
            _logger.info("listening", listener=endpoint.listener, port=opened[-1].port)
        yield
    finally:
        await asyncio.gather(*(listener.close(_CLOSE_TIMEOUT_S) for listener in opened))


def _topic_apis(controller: ControllerClient, configs: ConfigStore, throttling: ClientThrottling) -> list[Served]:
    """What the active controller does for whoever asks any broker."""
    return [
        create_topics.served(controller, configs.live, throttling),
        delete_topics.served(controller, throttling),
        create_partitions.served(controller, throttling),
        elect_leaders.served(controller),
        alter_partition_reassignments.served(controller),
        list_partition_reassignments.served(controller),
    ]


def _config_apis(view: ClusterView, configs: ConfigStore) -> list[Served]:
    loggers = BrokerLoggers()
    return [
        describe_configs.served(view, configs, loggers),
        alter_configs.served(view, configs),
        incremental_alter_configs.served(view, configs, loggers),
        describe_client_quotas.served(configs.quotas),
        alter_client_quotas.served(configs),
    ]


def _limits(config: BrokerConfig) -> ConnectionLimits:
    return ConnectionLimits(
        request_bytes_max=config.socket_request_max_bytes,
        idle_ms_max=config.connections_max_idle_ms,
        send_buffer_bytes=config.socket_send_buffer_bytes,
        receive_buffer_bytes=config.socket_receive_buffer_bytes,
    )


def _admission(config: BrokerConfig) -> Admission:
    return Admission(config.max_connections, config.max_connections_per_ip, config.connection_limits)


def _renew_admission(admission: Admission, config: BrokerConfig) -> None:
    """New bounds hold for connections to come; those that are open stay."""
    admission.connections_max = config.max_connections
    admission.per_ip_max = config.max_connections_per_ip
    admission.per_ip_overrides = config.connection_limits
