"""/admin/reassign_partitions, through which tools of old ask for reassignments and see which are not finished."""

from collections.abc import Callable

from tidelog.controller.core import zk_requests as zk
from tidelog.controller.core.effects import What
from tidelog.controller.core.work import Work
from tidelog.controller.core.zk_requests import Task
from tidelog.kafka.types import BrokerId, TopicPartition
from tidelog.zk.operations import Delete, SetData
from tidelog.zk.znodes import MalformedZnode, ReassignPartitionsZnode

Targets = dict[TopicPartition, tuple[BrokerId, ...]]


def read(work: Work) -> Task[Targets | None]:
    """What is asked for there; None if there is no such node, or none that can be read."""
    node = yield from zk.read_one(ReassignPartitionsZnode.PATH)
    try:
        return None if node is None else ReassignPartitionsZnode.decode(node.data)
    except MalformedZnode as error:
        work.note(What.MALFORMED_ZNODE, ReassignPartitionsZnode.PATH, str(error))
        return None


def remove(work: Work, is_done: Callable[[TopicPartition, tuple[int, ...]], bool]) -> Task[None]:
    """Take out what is done or refused; a node that asks for nothing more is deleted, which tells the tool."""
    targets = yield from read(work)
    if targets is None:
        return
    left = {partition: ids for partition, ids in targets.items() if not is_done(partition, ids)}
    if not left:
        yield from zk.write([Delete(ReassignPartitionsZnode.PATH)])
    elif len(left) < len(targets):
        yield from zk.write([SetData(ReassignPartitionsZnode.PATH, ReassignPartitionsZnode.encode(left))])
