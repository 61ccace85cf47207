"""Topics that are created because somebody asks for them."""

import asyncio
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.broker.core.auto_created import topic_shape
from tidelog.broker.core.live_config import LiveConfig
from tidelog.broker.shell.auto_creation import AutoCreation
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.rpc import controller_pb2


def config(**values: Any) -> BrokerConfig:
    return BrokerConfig(zookeeper_connect="zk:1", broker_id=1, log_dirs=("d",), **values)


class Controller:
    """Takes down what it is asked for; answers when `gate` is set."""

    def __init__(self, controller_id: int = 1, brokers: int = 3, refuses: bool = False) -> None:
        view = SimpleNamespace(brokers=dict.fromkeys(range(brokers)), controller_id=controller_id)
        self.mirror = SimpleNamespace(view=view)
        self.asked: list[controller_pb2.CreateTopicsRequest] = []
        self.gate = asyncio.Event()
        self.refuses = refuses

    async def call(self, method: str, request: Any, timeout_ms: float) -> Any:
        assert (method, timeout_ms > 0) == ("CreateTopics", True)
        self.asked.append(request)
        await self.gate.wait()
        if self.refuses:
            raise KafkaError(KafkaCode.NOT_CONTROLLER)
        results = [controller_pb2.TopicResult(name=topic.name, error_code=17) for topic in request.topics]
        return controller_pb2.TopicResults(topics=results)


class Creating:
    """A creation with its tasks, which tests run to their end."""

    def __init__(self, controller: Controller, **values: Any) -> None:
        self.tasks: list[asyncio.Task[None]] = []
        made: Any = controller
        self.creation = AutoCreation(made, LiveConfig(config(**values)), self._spawn)

    def _spawn(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        self.tasks.append(asyncio.create_task(coroutine, name=name))


async def test_topics_of_one_request_are_asked_for_together_and_each_once_at_a_time() -> None:
    controller = Controller()
    creating = Creating(controller, num_partitions=4, default_replication_factor=2)
    codes = creating.creation.create(["a", "b"])
    assert codes == {"a": KafkaCode.LEADER_NOT_AVAILABLE, "b": KafkaCode.LEADER_NOT_AVAILABLE}
    creating.creation.create(["b", "c"])
    creating.creation.create(["a", "b", "c"])
    await asyncio.sleep(0)
    assert [[topic.name for topic in request.topics] for request in controller.asked] == [["a", "b"], ["c"]]
    assert {(topic.partitions, topic.replication_factor) for topic in controller.asked[0].topics} == {(4, 2)}
    controller.gate.set()
    await asyncio.gather(*creating.tasks)
    creating.creation.create(["a"])
    assert len(creating.tasks) == 3, "asked for again, should it be gone again"
    await asyncio.gather(*creating.tasks)


async def test_other_brokers_than_the_one_that_is_told_as_controller_do_not_know_it_yet() -> None:
    creating = Creating(Controller(controller_id=0))
    assert creating.creation.create(["a"]) == {"a": KafkaCode.UNKNOWN_TOPIC_OR_PARTITION}
    for task in creating.tasks:
        task.cancel()


async def test_a_refusal_is_not_the_end() -> None:
    controller = Controller(refuses=True)
    controller.gate.set()
    creating = Creating(controller)
    for _ in range(2):
        creating.creation.create(["a"])
        await asyncio.gather(*creating.tasks)
    assert len(controller.asked) == 2


async def test_too_few_brokers() -> None:
    controller = Controller(brokers=1)
    creating = Creating(controller, default_replication_factor=2)
    assert creating.creation.create(["a"]) == {"a": KafkaCode.INVALID_REPLICATION_FACTOR}
    assert creating.tasks == []


async def test_invented_names_do_not_pile_up() -> None:
    creating = Creating(Controller())
    for start in (0, 9_000, 18_000):
        creating.creation.create(str(number) for number in range(start, start + 9_000))
    assert len(creating.creation._under_way) == 10_000
    for task in creating.tasks:
        task.cancel()


@pytest.mark.parametrize("enabled", [True, False])
async def test_clients_may_or_may_not(enabled: bool) -> None:
    assert Creating(Controller(), auto_create_topics_enable=enabled).creation.is_enabled is enabled


def test_internal_topics_have_a_shape_of_their_own() -> None:
    settings = config(offsets_topic_num_partitions=7, transaction_state_log_replication_factor=1)
    offsets = topic_shape("__consumer_offsets", settings)
    assert offsets[:2] == (7, 3)
    assert offsets.configs == {
        "cleanup.policy": "compact",
        "segment.bytes": "104857600",
        "compression.type": "producer",
    }
    transactions = topic_shape("__transaction_state", settings)
    assert transactions[:2] == (50, 1)
    assert transactions.configs["cleanup.policy"] == "compact"
    assert transactions.configs["min.insync.replicas"] == "2"
