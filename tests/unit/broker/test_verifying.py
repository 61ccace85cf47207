"""The first write of a transaction waits for its coordinator's word, and those behind it keep their order."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.batches import batch
from tests.support.hosting_broker import HostingBroker
from tidelog.broker.core.live_config import LiveConfig
from tidelog.broker.shell.transactional_producing import TransactionalProducing
from tidelog.broker.shell.verifying import Verifying, code_for_client
from tidelog.broker.wire.hot_produce import ProduceAsked, Produced, read_produce
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.records.control import EndTransactionMarker, MarkerType, encode_marker
from tidelog.kafka.records.header import TRANSACTIONAL
from tidelog.kafka.records.record import Record
from tidelog.kafka.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from tidelog.kafka.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.runtime.settings import load_config

PRODUCER = (1000, 3)


class Coordinator:
    """Takes questions, and answers when the test says so."""

    def __init__(self) -> None:
        self.routing = self
        self.questions: list[tuple[AddPartitionsToTxnRequest, asyncio.Future[AddPartitionsToTxnResponse]]] = []

    def owner(self, topic: str, key: bytes) -> str:
        assert (topic, key) == ("__transaction_state", b"mine")
        return "the coordinator"

    async def ask(self, owner: str, request: AddPartitionsToTxnRequest, version: int) -> AddPartitionsToTxnResponse:
        assert (owner, version) == ("the coordinator", 4)
        answer: asyncio.Future[AddPartitionsToTxnResponse] = asyncio.get_running_loop().create_future()
        self.questions.append((request, answer))
        return await answer

    async def answer(self, code: KafkaCode = KafkaCode.NONE) -> None:
        request, answer = self.questions.pop(0)
        (asked,) = request.transactions
        topics = [
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)
                    for index in topic.partitions
                ],
            )
            for topic in asked.topics
        ]
        result = AddPartitionsToTxnResult(transactional_id=asked.transactional_id, topic_results=topics)
        answer.set_result(AddPartitionsToTxnResponse(results_by_transaction=[result]))
        await turns()

    async def fail(self, code: KafkaCode) -> None:
        self.questions.pop(0)[1].set_exception(KafkaError(code))
        await turns()


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class Producer:
    """A transactional producer in front of broker 1, which leads partitions 0 and 1 of t."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.broker = HostingBroker(folder)
        for index in (0, 1):
            self.broker.apply(index=index)
        self.coordinator = Coordinator()
        overrides = {"broker.id": "1", "zookeeper.connect": "z:1", "log.dirs": "d"}
        overrides |= {name.replace("_", "."): value for name, value in settings.items()}
        live = LiveConfig(load_config(BrokerConfig, file=None, environ={}, overrides=overrides).config)
        loop = asyncio.get_running_loop()
        self._tasks: list[Any] = []
        verifying = Verifying(self.coordinator, live, self._spawn, loop.call_soon)  # type: ignore[arg-type]
        self._producing = TransactionalProducing(self.broker.producing, verifying)
        self.answers: list[list[Produced]] = []

    def send(self, *sequences: int, producer: tuple[int, int] = PRODUCER, version: int = 9) -> None:
        """One request, with one batch a partition from 0 on; a sequence each."""
        partitions = [PartitionProduceData(index=at, records=data(each, producer)) for at, each in enumerate(sequences)]
        request = ProduceRequest(
            transactional_id="mine",
            acks=-1,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name="t", partition_data=partitions)],
        )
        frame = bytearray(request.encode(version))
        asked: ProduceAsked = read_produce(memoryview(frame), 0, version)
        begin = self.broker.producing.begin
        self._producing.produce(
            asked, memoryview(frame), version, lambda: begin(-1, None, is_transactional=True), self.answers.append
        )
        # The frame belongs to somebody else now.
        frame[:] = bytes(len(frame))

    @property
    def codes(self) -> list[list[int]]:
        return [[one.error_code for one in answers] for answers in self.answers]

    def end_transaction(self) -> None:
        ended = encode_marker(
            EndTransactionMarker(MarkerType.COMMIT, 0), producer_id=PRODUCER[0], producer_epoch=PRODUCER[1], timestamp=1
        )
        production = self.broker.producing.begin(-1, None)
        self.broker.producing.append_marker(production, b"t", 0, PRODUCER[0], memoryview(ended))
        assert production.answers[0].error_code == 0

    def _spawn(self, coroutine: Any, _: str) -> Any:
        self._tasks.append(asyncio.create_task(coroutine))
        return self._tasks[-1]


def data(sequence: int, producer: tuple[int, int]) -> bytes:
    record = Record(b"key", b"value", 1000)
    return batch(record, attributes=TRANSACTIONAL, producer=producer, sequence=sequence)


@pytest.fixture
async def producer(tmp_path: Path) -> Producer:
    return Producer(tmp_path)


async def test_one_question_for_a_transaction_and_none_while_it_is_open(producer: Producer) -> None:
    producer.send(0)
    await turns()
    assert not producer.answers
    await producer.coordinator.answer()
    producer.send(1)
    assert producer.codes == [[0], [0]]
    assert not producer.coordinator.questions


async def test_the_partitions_of_a_request_go_into_one_question(producer: Producer) -> None:
    producer.send(0, 0)
    await turns()
    ((request, _),) = producer.coordinator.questions
    (asked,) = request.transactions
    assert (asked.transactional_id, asked.producer_id, asked.producer_epoch) == ("mine", *PRODUCER)
    assert asked.verify_only
    assert [(topic.name, topic.partitions) for topic in asked.topics] == [("t", [0, 1])]
    await producer.coordinator.answer()
    assert producer.codes == [[0, 0]]


async def test_writes_behind_a_question_keep_their_order(producer: Producer) -> None:
    for sequence in range(3):
        producer.send(sequence)
        await turns()
    assert len(producer.coordinator.questions) == 1
    await producer.coordinator.answer()
    assert producer.codes == [[0], [0], [0]]
    assert [answers[0].base_offset for answers in producer.answers] == [0, 1, 2]


async def test_the_next_transaction_is_asked_for_again(producer: Producer) -> None:
    producer.send(0)
    await turns()
    await producer.coordinator.answer()
    producer.end_transaction()
    producer.send(1)
    await turns()
    assert len(producer.answers) == 1
    await producer.coordinator.answer(KafkaCode.INVALID_TXN_STATE)
    assert producer.codes == [[0], [KafkaCode.INVALID_TXN_STATE]]


async def test_a_transaction_that_ends_meanwhile_is_not_opened_again(producer: Producer) -> None:
    producer.send(0)
    await turns()
    producer.end_transaction()
    producer.send(0)
    await turns()
    await producer.coordinator.answer()
    assert producer.codes == [[KafkaCode.INVALID_TXN_STATE]]
    await producer.coordinator.answer()
    assert producer.codes[1:] == [[0]]


async def test_a_leader_that_was_replaced_and_came_back_asks_nobody_to_trust_it(producer: Producer) -> None:
    producer.send(0)
    await turns()
    producer.broker.apply(epoch=1, leader=2, replicas=(1, 2))
    producer.broker.apply(epoch=2, leader=1, replicas=(1, 2), isr=(1,))
    await producer.coordinator.answer()
    assert producer.codes == [[KafkaCode.NOT_LEADER_OR_FOLLOWER]]


async def test_another_epoch_is_another_question(producer: Producer) -> None:
    producer.send(0)
    producer.send(0, producer=(PRODUCER[0], PRODUCER[1] + 1))
    await turns()
    assert len(producer.coordinator.questions) == 2
    await producer.coordinator.answer(KafkaCode.PRODUCER_FENCED)
    await producer.coordinator.answer()
    assert producer.codes == [[KafkaCode.INVALID_PRODUCER_EPOCH], [0]]


async def test_a_coordinator_that_cannot_be_asked(producer: Producer) -> None:
    producer.send(0)
    await turns()
    await producer.coordinator.fail(KafkaCode.COORDINATOR_NOT_AVAILABLE)
    assert producer.codes == [[KafkaCode.NOT_ENOUGH_REPLICAS]]


async def test_newer_producers_are_told_to_abort(producer: Producer) -> None:
    producer.send(0, version=11)
    await turns()
    await producer.coordinator.answer(KafkaCode.INVALID_TXN_STATE)
    assert producer.codes == [[KafkaCode.TRANSACTION_ABORTABLE]]


async def test_nothing_is_asked_where_that_is_switched_off(tmp_path: Path) -> None:
    producer = Producer(tmp_path, transaction_partition_verification_enable="false")
    producer.send(0, 0)
    assert producer.codes == [[0, 0]]


async def test_a_request_without_partitions_is_answered(producer: Producer) -> None:
    producer.send()
    assert producer.answers == [[]]


async def test_a_partition_that_is_not_here_has_its_own_error(producer: Producer) -> None:
    producer.send(0, 0, 0)
    await turns()
    await producer.coordinator.answer()
    assert producer.codes == [[0, 0, KafkaCode.UNKNOWN_TOPIC_OR_PARTITION]]


@pytest.mark.parametrize(
    ("code", "version", "told"),
    [
        (KafkaCode.NOT_COORDINATOR, 11, KafkaCode.NOT_ENOUGH_REPLICAS),
        (KafkaCode.COORDINATOR_LOAD_IN_PROGRESS, 3, KafkaCode.NOT_ENOUGH_REPLICAS),
        (KafkaCode.CONCURRENT_TRANSACTIONS, 9, KafkaCode.NOT_ENOUGH_REPLICAS),
        (KafkaCode.NETWORK_EXCEPTION, 9, KafkaCode.NOT_ENOUGH_REPLICAS),
        (KafkaCode.TRANSACTION_ABORTABLE, 10, KafkaCode.INVALID_TXN_STATE),
        (KafkaCode.INVALID_TXN_STATE, 11, KafkaCode.TRANSACTION_ABORTABLE),
        (KafkaCode.INVALID_PRODUCER_ID_MAPPING, 11, KafkaCode.INVALID_PRODUCER_ID_MAPPING),
    ],
)
def test_what_producers_are_told(code: KafkaCode, version: int, told: KafkaCode) -> None:
    assert code_for_client(code, version) is told
