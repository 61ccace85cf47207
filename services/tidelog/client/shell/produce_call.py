"""One Produce request: batches in, an answer per partition out."""

import asyncio
from dataclasses import dataclass

from tidelog.client.configs.producer import ProducerConfig
from tidelog.client.core.batch import ProducerBatch
from tidelog.client.errors import ProducerFencedError
from tidelog.client.shell.connections import Link
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.wire.headers import encode_request, response_body_at
from tidelog.kafka.wire.messages.produce import (
    PRODUCE,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a broker said to one batch; `leader` is a hint that may come with a refusal."""

    code: KafkaCode
    base_offset: int = -1
    log_append_time: int = -1
    leader: int = -1
    leader_epoch: int = -1
    message: str = ""

    def error(self) -> KafkaError:
        if self.code in (KafkaCode.PRODUCER_FENCED, KafkaCode.INVALID_PRODUCER_EPOCH):
            return ProducerFencedError(self.code, self.message)
        return KafkaError(self.code, self.message)


# The connection broke, so nobody knows whether the batch was written.
NO_ANSWER = Answer(KafkaCode.NETWORK_EXCEPTION)

Answers = dict[tuple[str, int], Answer]


def produce(link: Link, config: ProducerConfig, batches: list[ProducerBatch]) -> asyncio.Future[Answers] | None:
    """Send batches of different partitions; None where no answer will come."""
    version = link.version(PRODUCE)
    connection = link.connection
    correlation_id = connection.next_correlation_id()
    frame = encode_request(_request(config, batches), version, correlation_id, connection.client_id)
    if config.acks == 0:
        connection.send(frame)
        return None

    def read(answer: memoryview) -> Answers:
        at = response_body_at(answer, PRODUCE, version)
        return _answers(ProduceResponse.decode(version, answer, at))

    return connection.exchange(correlation_id, read, frame)


def _request(config: ProducerConfig, batches: list[ProducerBatch]) -> ProduceRequest:
    by_topic: dict[str, list[PartitionProduceData]] = {}
    for batch in batches:
        # The codec copies bytes of any kind into the frame.
        data = PartitionProduceData(index=batch.partition, records=batch.sealed())  # type: ignore[arg-type]
        by_topic.setdefault(batch.topic, []).append(data)
    return ProduceRequest(
        transactional_id=config.transactional_id,
        acks=config.acks,
        timeout_ms=config.request_timeout_ms,
        topic_data=[TopicProduceData(name=name, partition_data=data) for name, data in by_topic.items()],
    )


def _answers(response: ProduceResponse) -> Answers:
    return {
        (topic.name, partition.index): _answer(partition)
        for topic in response.responses
        for partition in topic.partition_responses
    }


def _answer(told: PartitionProduceResponse) -> Answer:
    if not told.error_code:
        return Answer(KafkaCode.NONE, told.base_offset, told.log_append_time_ms)
    faults = "; ".join(f"record {each.batch_index}: {each.batch_index_error_message}" for each in told.record_errors)
    hint = told.current_leader
    return Answer(
        KafkaCode(told.error_code),
        leader=-1 if hint is None else hint.leader_id,
        leader_epoch=-1 if hint is None else hint.leader_epoch,
        message=told.error_message or faults,
    )
