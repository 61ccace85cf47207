"""Topics that come into being because somebody asks for them."""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from tidelog.broker.core.auto_created import topic_shape
from tidelog.broker.core.live_config import LiveConfig
from tidelog.kafka.configs.broker import BrokerConfig
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.rpc import controller_pb2
from tidelog.runtime import logs
from tidelog.runtime.controller_client import ControllerClient

# A client that does not hear of its topic by then asks again, and so does the broker.
_TIMEOUT_MS = 10_000
# Names are free to invent: so many at a time are passed on, and the others when their clients ask again.
_UNDER_WAY_MAX = 10_000

_logger = logs.get("topics")


class AutoCreation:
    """Asks the controller for topics, for each once at a time, and waits for nothing."""

    def __init__(
        self,
        controller: ControllerClient,
        live: LiveConfig,
        spawn: Callable[[Coroutine[Any, Any, None], str], object],
    ) -> None:
        """`spawn` runs a coroutine in the background under a name."""
        self._controller = controller
        self._live = live
        self._spawn = spawn
        self._under_way: set[str] = set()

    @property
    def is_enabled(self) -> bool:
        """Whether clients may have topics created by asking for them."""
        return self._live.broker.auto_create_topics_enable

    def create(self, names: Iterable[str]) -> dict[str, KafkaCode]:
        """Have topics created that do not exist; gives what their clients are told in the meantime, which is to retry.

        INVALID_REPLICATION_FACTOR where there are not enough brokers.
        """
        codes = {name: self._code(name) for name in names}
        wanted = [name for name, code in codes.items() if code is not KafkaCode.INVALID_REPLICATION_FACTOR]
        new = [name for name in wanted if name not in self._under_way][: _UNDER_WAY_MAX - len(self._under_way)]
        if new:
            self._under_way.update(new)
            self._spawn(self._create(new), "automatic creation of topics")
        return codes

    def _code(self, name: str) -> KafkaCode:
        config, view = self._live.broker, self._controller.mirror.view
        if topic_shape(name, config).replication_factor > len(view.brokers):
            return KafkaCode.INVALID_REPLICATION_FACTOR
        # The broker that clients take for the controller says that the topic is coming, as in Kafka; the others do not
        # know it yet.
        is_controller = view.controller_id == config.broker_id
        return KafkaCode.LEADER_NOT_AVAILABLE if is_controller else KafkaCode.UNKNOWN_TOPIC_OR_PARTITION

    async def _create(self, names: list[str]) -> None:
        try:
            answer = await self._controller.call("CreateTopics", _request(names, self._live.broker), _TIMEOUT_MS)
            for topic in answer.topics:
                if topic.error_code not in (KafkaCode.NONE, KafkaCode.TOPIC_ALREADY_EXISTS):
                    _logger.info("a topic is not created", topic=topic.name, reason=topic.error_message)
        except KafkaError as refusal:
            _logger.info("topics are not created", topics=len(names), reason=refusal.message)
        finally:
            self._under_way.difference_update(names)


def _request(names: list[str], config: BrokerConfig) -> controller_pb2.CreateTopicsRequest:
    shapes = [(name, topic_shape(name, config)) for name in names]
    return controller_pb2.CreateTopicsRequest(
        topics=[
            controller_pb2.NewTopic(
                name=name,
                partitions=shape.partitions,
                replication_factor=shape.replication_factor,
                configs=shape.configs,
            )
            for name, shape in shapes
        ],
        timeout_ms=_TIMEOUT_MS,
    )
