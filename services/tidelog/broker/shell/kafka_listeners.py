"""The broker's front doors: one listener for each entry of `listeners`, all with the same APIs behind them."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from tidelog.broker.shell.auto_creation import AutoCreation
from tidelog.broker.shell.broker_loggers import BrokerLoggers
from tidelog.broker.shell.client_throttling import ClientThrottling
from tidelog.broker.shell.config_store import ConfigStore
from tidelog.broker.shell.connection_bounds import ConnectionBounds
from tidelog.broker.shell.departures import Departures
from tidelog.broker.shell.relay import Relay
from tidelog.broker.wire import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_user_scram_credentials,
    create_acls,
    create_partitions,
    create_topics,
    delete_acls,
    delete_groups,
    delete_topics,
    describe_acls,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_transactions,
    describe_user_scram_credentials,
    elect_leaders,
    end_txn,
    find_coordinator,
    heartbeat,
    incremental_alter_configs,
    join_group,
    leave_group,
    list_groups,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    sasl_authenticate,
    sasl_handshake,
    sync_group,
    txn_offset_commit,
)
from tidelog.kafka.cluster import ClusterView
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.net.awaited import AwaitedRequests
from tidelog.net.dispatch import Dispatcher
from tidelog.net.listener import Listener
from tidelog.net.listener_metrics import ListenerMetrics
from tidelog.net.request_counts import RequestCounts
from tidelog.net.request_metrics import RequestMetrics
from tidelog.net.served import Served
from tidelog.runtime import logs
from tidelog.runtime.controller_client import ControllerClient
from tidelog.runtime.process import Process

# How long answers that are due may take to go out when the broker stops.
_CLOSE_TIMEOUT_S = 2.0

_logger = logs.get("net")


@asynccontextmanager
async def kafka_listeners(
    config: BrokerConfig,
    process: Process,
    controller: ControllerClient,
    configs: ConfigStore,
    data_apis: Iterable[Served],
    relay: Relay,
    creation: AutoCreation,
    throttling: ClientThrottling,
    departures: Departures,
) -> AsyncIterator[None]:
    """Serve the Kafka wire until the context is left."""
    view = controller.mirror.view
    cluster_apis = [metadata.served(view, creation, departures), describe_cluster.served(view)]
    topic_apis = _topic_apis(controller, configs, throttling)
    coordinator_apis = [*_group_apis(relay), *_transaction_apis(relay)]
    counts, awaited = RequestCounts(), AwaitedRequests(config.queued_max_requests)
    dispatcher = Dispatcher(
        [
            *cluster_apis,
            *topic_apis,
            *data_apis,
            find_coordinator.served(relay.routing, creation),
            *coordinator_apis,
            *_config_apis(view, configs),
            *_security_apis(configs),
        ],
        throttling,
        counts,
        awaited,
    )
    bounds = ConnectionBounds(configs, process.clock)
    opened: list[Listener] = []
    process.registry.register(RequestMetrics(counts, process.clock))
    process.registry.register(ListenerMetrics(opened, awaited, process.clock))
    try:
        for endpoint in config.listeners:
            rate = bounds.rate_of(endpoint.listener)
            opened.append(
                await Listener.open(endpoint, dispatcher, limits=bounds.limits, admission=bounds.admission, rate=rate)
            )
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


def _group_apis(relay: Relay) -> list[Served]:
    """What coordinators do for the groups whose shards this broker leads."""
    return [
        offset_commit.served(relay),
        offset_fetch.served(relay),
        join_group.served(relay),
        heartbeat.served(relay),
        leave_group.served(relay),
        sync_group.served(relay),
        describe_groups.served(relay),
        list_groups.served(relay),
        txn_offset_commit.served(relay),
        delete_groups.served(relay),
        offset_delete.served(relay),
    ]


def _transaction_apis(relay: Relay) -> list[Served]:
    """The same for transactions; InitProducerId is only partly among them."""
    return [
        add_partitions_to_txn.served(relay),
        add_offsets_to_txn.served(relay),
        end_txn.served(relay),
        describe_transactions.served(relay),
        list_transactions.served(relay),
    ]


def _security_apis(configs: ConfigStore) -> list[Served]:
    return [
        sasl_handshake.served(),
        sasl_authenticate.served(),
        describe_acls.served(),
        create_acls.served(),
        delete_acls.served(),
        describe_user_scram_credentials.served(configs),
        alter_user_scram_credentials.served(configs),
    ]


def _config_apis(view: ClusterView, configs: ConfigStore) -> list[Served]:
    loggers = BrokerLoggers()
    return [
        describe_configs.served(view, configs, loggers),
        alter_configs.served(view, configs),
        incremental_alter_configs.served(view, configs, loggers),
        describe_client_quotas.served(configs),
        alter_client_quotas.served(configs),
    ]
