"""Produce (0), listed in versions 0 to 11 and served from 3 on.

- v0 to v2: the message formats before record batches. They are listed because older clients take their absence for a
  broker without compression, and every partition is answered with error 35.
- v3: record batches and the transactional id.  v4: error 56.  v5: the log's start offset in answers.
- v6: throttled clients are answered at once.  v7: zstd.
- v8: which records were refused, and why.  v9: flexible.
- v10: who leads, with error 6.  v11: the same; error 120 for transactions.

With acks=0 nothing is answered, and an error closes the connection: there is no other way to tell. The first batch of a
transaction waits until the coordinator has said that the partition is part of it. Group coordinators write to the
internal topics with a tag of ours, by which those that were replaced are told from the present ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.wire.endpoints import leader_endpoints
from tidelog.broker.wire.hot_produce import Produced, encode_produced, read_produce
from tidelog.kafka.errors import KafkaCode
from tidelog.kafka.wire.headers import encode_response
from tidelog.kafka.wire.messages.produce import (
    PRODUCE,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import RequestContext, ServedFrames

if TYPE_CHECKING:
    from tidelog.broker.shell.client_throttling import ClientThrottling
    from tidelog.broker.shell.producing import Producing, Production
    from tidelog.broker.shell.transactional_producing import TransactionalProducing
    from tidelog.broker.wire.hot_produce import ProduceAsked
    from tidelog.kafka.cluster import ClusterView

_RECORD_BATCHES_FROM = 3
_ZSTD_FROM = 7
_LEADERS_FROM = 10


def served(
    producing: Producing, transactional: TransactionalProducing, view: ClusterView, throttling: ClientThrottling
) -> ServedFrames:
    return ServedFrames(PRODUCE, parse_versions("0-11"), _Produce(producing, transactional, view, throttling).serve)


class _Produce:
    def __init__(
        self,
        producing: Producing,
        transactional: TransactionalProducing,
        view: ClusterView,
        throttling: ClientThrottling,
    ) -> None:
        self._producing = producing
        self._transactional = transactional
        self._view = view
        self._throttling = throttling

    def serve(self, context: RequestContext, frame: memoryview, at: int) -> None:
        version = context.version
        if version < _RECORD_BATCHES_FROM:
            _refuse_old(context, frame, at)
            return
        transactional_id, acks, timeout_ms, partitions, fences = asked = read_produce(frame, at, version)
        if transactional_id is not None and fences is None:
            self._serve_transactional(context, asked, frame)
            return
        producing = self._producing
        production = producing.begin(acks, context.client_id, zstd_allowed=version >= _ZSTD_FROM)
        if fences is None:
            for topic, index, start, end in partitions:
                producing.append(production, topic, index, frame[start:end])
        else:
            self._append_fenced(production, asked, frame)
        size = len(frame)
        if acks == 0:
            self._finish_unanswered(context, production.answers, size)
        elif production.awaited is None:
            context.connection.reply(self._encoded(context, production.answers, size))
        else:
            slot = context.connection.defer()
            producing.wait(production, timeout_ms, lambda answers: slot.fill(self._encoded(context, answers, size)))

    def _append_fenced(self, production: Production, asked: ProduceAsked, frame: memoryview) -> None:
        """What a coordinator writes; a partition without a fence is a client's like any other."""
        fences = asked.fences or {}
        for place, (topic, index, start, end) in enumerate(asked.partitions):
            data = frame[start:end]
            if place in fences:
                self._producing.append_fenced(production, topic, index, data, fences[place])
            else:
                self._producing.append(production, topic, index, data)

    def _serve_transactional(self, context: RequestContext, asked: ProduceAsked, frame: memoryview) -> None:
        acks, size, version = asked.acks, len(frame), context.version
        slot = None if acks == 0 else context.connection.defer()

        def begin() -> Production:
            return self._producing.begin(
                acks, context.client_id, zstd_allowed=version >= _ZSTD_FROM, is_transactional=True
            )

        def respond(answers: list[Produced]) -> None:
            if slot is None:
                self._finish_unanswered(context, answers, size)
            else:
                slot.fill(self._encoded(context, answers, size))

        self._transactional.produce(asked, frame, version, begin, respond)

    def _finish_unanswered(self, context: RequestContext, answers: list[Produced], size: int) -> None:
        if any(answer.error_code for answer in answers):
            context.connection.close()
        if self._throttling.is_on:
            self._throttle(context, size, is_answered=False)
        for answer in answers:
            context.counts.errors[answer.error_code] += 1
        context.finish_unanswered()

    def _encoded(self, context: RequestContext, answers: list[Produced], size: int) -> bytes:
        version = context.version
        for answer in answers:
            context.counts.errors[answer.error_code] += 1
        throttle_ms = self._throttle(context, size, is_answered=True) if self._throttling.is_on else 0
        if version < _LEADERS_FROM or (len(answers) == 1 and not answers[0].error_code):
            return encode_produced(version, context.correlation_id, answers, throttle_ms)
        leaders = {answer.current_leader[0] for answer in answers if answer.current_leader is not None}
        endpoints = leader_endpoints(self._view, context.listener, leaders)
        return encode_produced(version, context.correlation_id, answers, throttle_ms, endpoints)

    def _throttle(self, context: RequestContext, size: int, *, is_answered: bool) -> int:
        """What was too much is appended all the same: the client is told to wait, and not read from meanwhile."""
        throttle_ms = self._throttling.produce_ms(context, size, is_answered=is_answered)
        if throttle_ms:
            context.throttle(throttle_ms)
        return throttle_ms


def _refuse_old(context: RequestContext, frame: memoryview, at: int) -> None:
    request = ProduceRequest.decode(context.version, frame, at)
    if request.acks == 0:
        context.connection.close()
        return
    code = KafkaCode.UNSUPPORTED_VERSION
    response = ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                partition_responses=[
                    PartitionProduceResponse(index=partition.index, error_code=code, base_offset=-1)
                    for partition in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )
    context.connection.reply(encode_response(response, context.version, context.correlation_id))
