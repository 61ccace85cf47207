"""LeaderAndIsr and StopReplica: the controller's word about the partitions of this broker, applied one at a time.

A request is refused whole if a newer controller has spoken already, or if it is meant for an earlier incarnation of this
broker. Otherwise each partition gets its own answer.

The controller has one request under way at a time and repeats it until it is answered. A call that it gave up may lie in a
socket for long, and come after later ones. It is not carried out: a replica that was deleted meanwhile, and of which nothing
is known here any more, would be made again, and would lead in an epoch that others have ended.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING
from uuid import UUID

from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.rpc import broker_pb2, types_pb2
from tidelog.runtime import logs
from tidelog.runtime.cluster_rpc import partition_from_rpc

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from tidelog.broker.shell.departures import Departures
    from tidelog.broker.shell.partitions import Partitions
    from tidelog.runtime.cluster_mirror import ClusterMirror

    # Reads the settings of a topic that is new here.
    LoadConfig = Callable[[str], Awaitable[object]]

# A new partition is half a dozen files. On a busy disk a thousand of them take seconds, in which clients shall not wait.
# But followers begin to fetch with each turn, so that turns must not be many either.
_TURN_S = 0.05

_logger = logs.get("partitions")


class ControllerRequests:
    """Everything that the active controller asks of a broker."""

    def __init__(
        self,
        partitions: Partitions,
        mirror: ClusterMirror,
        own_epoch: Callable[[], int | None],
        load_config: LoadConfig,
        is_open: Callable[[], bool],
        departures: Departures,
    ) -> None:
        """`is_open` says whether the logs are loaded; before that no partition can be hosted."""
        self._partitions = partitions
        self._mirror = mirror
        self._own_epoch = own_epoch
        self._load_config = load_config
        self._is_open = is_open
        self._departures = departures
        self._one_at_a_time = asyncio.Lock()
        self._controller_epoch = 0
        # Controller epoch and sequence of the newest request.
        self._newest = (0, 0)
        # Of what a controller asked, by code: an outdated controller, or an outdated epoch of a partition.
        self.refusals: Counter[KafkaCode] = Counter()

    def update_metadata(self, request: types_pb2.UpdateMetadataRequest) -> None:
        self._check_epochs(request.controller_epoch, request.recipient_epoch)
        brokers = self._mirror.view.brokers
        self._mirror.take(request)
        self._departures.on_update(brokers)
        self._partitions.stand_down(topic.name for topic in request.topics)
        # A broker that is gone is not waited for any more by those who delete records.
        self._partitions.waiting.delete_records.wake_all()

    async def leader_and_isr(self, request: broker_pb2.LeaderAndIsrRequest) -> broker_pb2.LeaderAndIsrResponse:
        async with self._one_at_a_time:
            self._check_epochs(request.controller_epoch, request.broker_epoch)
            if self._comes_late(request):
                return broker_pb2.LeaderAndIsrResponse()
            await self._load_configs({topic.name for topic in request.topics})
            # While ZooKeeper was asked another controller may have come.
            self._check_epochs(request.controller_epoch, request.broker_epoch)
            results, turn = [], _Turn()
            for topic, state in ((one, state) for one in request.topics for state in one.partitions):
                results.append(self._apply(topic, state))
                if turn.is_over():
                    await asyncio.sleep(0)
                    self._check_epochs(request.controller_epoch, request.broker_epoch)
            return broker_pb2.LeaderAndIsrResponse(partitions=results)

    async def stop_replica(self, request: broker_pb2.StopReplicaRequest) -> broker_pb2.StopReplicaResponse:
        async with self._one_at_a_time:
            self._check_epochs(request.controller_epoch, request.broker_epoch)
            if self._comes_late(request):
                return broker_pb2.StopReplicaResponse()
            return broker_pb2.StopReplicaResponse(partitions=[self._stop(asked) for asked in request.partitions])

    def _comes_late(self, request: broker_pb2.LeaderAndIsrRequest | broker_pb2.StopReplicaRequest) -> bool:
        """Whether a later request was carried out already. Then nobody waits for the answer to this one."""
        number = (request.controller_epoch, request.sequence)
        if request.sequence and number < self._newest:
            _logger.info("a request that came late is left out", controller_epoch=number[0], sequence=number[1])
            return True
        self._newest = max(number, self._newest)
        return False

    async def _load_configs(self, topics: Iterable[str]) -> None:
        """Before a log is made its settings must be known; of a topic's creation no change is announced."""
        hosted = {partition.name.topic for partition in self._partitions}
        for topic in sorted(set(topics) - hosted):
            await self._load_config(topic)

    def _check_epochs(self, controller_epoch: int, broker_epoch: int) -> None:
        try:
            self._compare_epochs(controller_epoch, broker_epoch)
        except KafkaError as refusal:
            self.refusals[refusal.code] += 1
            _logger.info("controller refused", controller_epoch=controller_epoch, why=refusal.message)
            raise
        if not self._is_open():
            raise KafkaError(KafkaCode.BROKER_NOT_AVAILABLE, "the logs of this broker are still being loaded")
        self._controller_epoch = controller_epoch

    def _compare_epochs(self, controller_epoch: int, broker_epoch: int) -> None:
        own_epoch = self._own_epoch()
        if controller_epoch < self._controller_epoch:
            raise KafkaError(
                KafkaCode.STALE_CONTROLLER_EPOCH,
                f"controller epoch {controller_epoch} is older than {self._controller_epoch}, the newest seen here",
            )
        self._mirror.view.check_epochs(controller_epoch, broker_epoch, -1 if own_epoch is None else own_epoch)

    def _apply(self, topic: types_pb2.TopicState, state: types_pb2.PartitionState) -> types_pb2.PartitionResult:
        try:
            self._partitions.apply_state(
                topic.name, UUID(bytes=topic.topic_id), partition_from_rpc(state), is_new=state.is_new
            )
        except KafkaError as refusal:
            return self._refused(topic.name, state.partition, refusal)
        _logger.debug(
            "role taken", topic=topic.name, partition=state.partition, leader=state.leader, epoch=state.leader_epoch
        )
        return types_pb2.PartitionResult(topic=topic.name, partition=state.partition)

    def _stop(self, asked: broker_pb2.StopReplicaPartition) -> types_pb2.PartitionResult:
        try:
            self._partitions.stop(asked.topic, asked.partition, asked.leader_epoch, delete=asked.delete_partition)
        except KafkaError as refusal:
            return self._refused(asked.topic, asked.partition, refusal)
        return types_pb2.PartitionResult(topic=asked.topic, partition=asked.partition)

    def _refused(self, topic: str, partition: int, refusal: KafkaError) -> types_pb2.PartitionResult:
        self.refusals[refusal.code] += 1
        # A new controller tells everything again, so that most of it is known.
        log = _logger.debug if refusal.code is KafkaCode.STALE_CONTROLLER_EPOCH else _logger.info
        log("controller refused", topic=topic, partition=partition, why=refusal.message)
        return types_pb2.PartitionResult(
            topic=topic, partition=partition, error_code=refusal.code, error_message=refusal.message
        )


class _Turn:
    """Says after each piece of work whether the event loop has had to wait for long enough."""

    def __init__(self) -> None:
        self._time = asyncio.get_running_loop().time
        self._end = self._time() + _TURN_S

    def is_over(self) -> bool:
        now = self._time()
        if now < self._end:
            return False
        self._end = now + _TURN_S
        return True
