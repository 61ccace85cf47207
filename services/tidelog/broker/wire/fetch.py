"""Fetch (1), listed in versions 0 to 16 and served from 4 on.

- v0 to v3: the message formats before record batches; every partition is answered with error 35.
- v4: record batches, isolation levels, aborted transactions.  v5: log start offsets.  v6: error 56.
- v7: incremental sessions.  v8: throttled clients are answered at once.  v9: leader epochs.  v10: zstd.
- v11: racks, and with them reads from followers.  v12: flexible; where logs diverge, and who leads.
- v13: topic ids in place of names.  v14: the same.  v15: a follower says who it is in a tag.  v16: where the leader is.

Records are sent from their files as they lie there; a limit may cut the last batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.log.reading import Isolation
from tidelog.broker.shell.partition import Reader
from tidelog.broker.wire.endpoints import leader_endpoints, reachable_brokers
from tidelog.broker.wire.hot_fetch_answer import FetchAnswer, encode_fetched
from tidelog.broker.wire.hot_fetch_request import read_fetch
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.types import BrokerId
from tidelog.kafka.wire.headers import encode_response
from tidelog.kafka.wire.messages.fetch import (
    FETCH,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedFrames

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.broker.shell.client_throttling import ClientThrottling
    from tidelog.broker.shell.fetching import Fetching
    from tidelog.broker.wire.hot_fetch_request import FetchAsked
    from tidelog.kafka.cluster import ClusterView
    from tidelog.kafka.configs.broker import BrokerConfig
    from tidelog.net.outbox import Part

_RECORD_BATCHES_FROM = 4
_FOLLOWERS_SERVE_FROM = 11
_ENDPOINTS_FROM = 16
_READ_COMMITTED = 1
# Kafka's metrics tell them apart.
_BY_CONSUMER, _BY_FOLLOWER = "FetchConsumer", "FetchFollower"
# A replica id that no broker has: a fetch with it is refused as one of a replica that is not assigned.
_NOBODY = 2**31 - 1


def served(fetching: Fetching, view: ClusterView, config: BrokerConfig, throttling: ClientThrottling) -> ServedFrames:
    return ServedFrames(FETCH, parse_versions("0-16"), _Fetch(fetching, view, config, throttling).serve)


class _Fetch:
    def __init__(
        self, fetching: Fetching, view: ClusterView, config: BrokerConfig, throttling: ClientThrottling
    ) -> None:
        self._fetching = fetching
        self._view = view
        self._throttling = throttling
        self._inter_broker_listener = config.inter_broker_listener
        self._names_replicas = config.replica_selector_class is not None

    def serve(self, context: RequestContext, frame: memoryview, at: int) -> None:
        if context.version < _RECORD_BATCHES_FROM:
            _refuse_old(context, frame, at)
            return
        asked = read_fetch(frame, at, context.version)
        context.counts = context.counts.kind(_BY_FOLLOWER if asked.replica_id >= 0 else _BY_CONSUMER)
        connection = context.connection

        def defer(answer_now: Callable[[], object]) -> Callable[[FetchAnswer], None]:
            slot = connection.defer()
            if asked.replica_id >= 0:
                connection.before_next(answer_now)
            return lambda answer: slot.fill(*self._encoded(context, answer))

        # Followers have no quota of this kind.
        charge = self._throttling.fetch(context) if self._throttling.is_on and asked.replica_id < 0 else None
        answer = self._fetching.fetch(asked, self._reader(context, asked), context.version, defer, charge)
        if answer is not None:
            connection.reply(*self._encoded(context, answer))

    def _reader(self, context: RequestContext, asked: FetchAsked) -> Reader:
        if asked.replica_id >= 0:
            # Only on the listener between brokers is a replica id believed.
            is_believed = context.listener == self._inter_broker_listener
            return Reader(asked.replica_id if is_believed else _NOBODY, Isolation.LOG_END, leader_only=True)
        isolation = Isolation.COMMITTED if asked.isolation_level == _READ_COMMITTED else Isolation.HIGH_WATERMARK
        leader_only = context.version < _FOLLOWERS_SERVE_FROM
        if not (self._names_replicas and asked.rack_id):
            return Reader(asked.replica_id, isolation, leader_only)
        racks = {
            BrokerId(broker): member.rack
            for broker, (member, _) in reachable_brokers(self._view, context.listener).items()
        }
        return Reader(asked.replica_id, isolation, leader_only, asked.rack_id, racks)

    def _encoded(self, context: RequestContext, answer: FetchAnswer) -> list[Part]:
        if answer.throttle_time_ms:
            context.throttle(answer.throttle_time_ms)
        errors = context.counts.errors
        errors[answer.error_code] += 1
        for one in answer.partitions:
            errors[one.error_code] += 1
        if context.version >= _ENDPOINTS_FROM:
            leaders = {one.current_leader[0] for one in answer.partitions if one.current_leader is not None}
            if leaders:
                answer = answer._replace(endpoints=leader_endpoints(self._view, context.listener, leaders))
        return encode_fetched(context.version, context.correlation_id, answer)


def _refuse_old(context: RequestContext, frame: memoryview, at: int) -> None:
    request = FetchRequest.decode(context.version, frame, at)
    code = KafkaCode.UNSUPPORTED_VERSION
    response = FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic=topic.topic,
                partitions=[
                    PartitionData(partition_index=one.partition, error_code=code, high_watermark=-1, records=b"")
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
    context.connection.reply(encode_response(response, context.version, context.correlation_id))
