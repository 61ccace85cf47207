"""Producer ids: blocks of them, each given out once, by a conditional write of /latest_producer_id_block."""

from tidelog.controller.core import zk_requests as zk
from tidelog.controller.core.answers import ProducerIdsAnswered
from tidelog.controller.core.zk_requests import Found, Refusal, Task
from tidelog.kafka.errors import KafkaCode, KafkaError
from tidelog.kafka.types import BrokerId, ProducerId
from tidelog.zk.operations import Create, SetData
from tidelog.zk.znodes import MalformedZnode, ProducerIdBlock, ProducerIdBlockZnode

BLOCK_SIZE = 1000  # Kafka's: PRODUCER_ID_BLOCK_SIZE
_LAST_ID = (1 << 63) - 1


def allocate(asked_by: int) -> Task[ProducerIdsAnswered]:
    """The block after the last one, whoever gave that out; somebody else's write in between means to look again."""
    while True:
        node = yield from zk.read_one(ProducerIdBlockZnode.PATH)
        block = next_block(_last_block(node), asked_by)
        data = ProducerIdBlockZnode.encode(block)
        op = Create(ProducerIdBlockZnode.PATH, data) if node is None else _replaced(data, node)
        (outcome,) = yield from zk.write([op])
        if not isinstance(outcome, Refusal):
            return ProducerIdsAnswered(block.first, BLOCK_SIZE)


def next_block(last: ProducerIdBlock | None, asked_by: int) -> ProducerIdBlock:
    first = 0 if last is None else last.last + 1
    if first > _LAST_ID - BLOCK_SIZE:
        raise KafkaError(KafkaCode.UNKNOWN_SERVER_ERROR, "All producer ids have been given out.")
    return ProducerIdBlock(BrokerId(asked_by), ProducerId(first), ProducerId(first + BLOCK_SIZE - 1))


def _replaced(data: bytes, node: Found) -> SetData:
    return SetData(ProducerIdBlockZnode.PATH, data, node.version)


def _last_block(node: Found | None) -> ProducerIdBlock | None:
    try:
        return None if node is None else ProducerIdBlockZnode.decode(node.data)
    except MalformedZnode as error:
        # Beginning anew would give ids out twice.
        raise KafkaError(KafkaCode.UNKNOWN_SERVER_ERROR, str(error)) from error
