"""Which batches of a sink are written: a marker for each task, committed in the transaction of the task's records.

The marker is an offset of a consumer group of its own, the batch's number plus one, with the number of rows as its note. It
becomes visible together with the records or not at all, and costs no topic.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyspark_tidelog.session import Session
from tidelog.client.errors import ClientError
from tidelog.client.records import OffsetAndMetadata
from tidelog.client.shell.coordinators import Coordinator, KeyType
from tidelog.client.sync import Admin
from tidelog.kafka.errors import KafkaError
from tidelog.kafka.wire.messages.offset_fetch import OffsetFetchRequest

_log = logging.getLogger(__name__)
# From version 8 on a request is about several groups.
_ONE_GROUP_VERSION = 7
_TIMEOUT_MS = 60_000


class Written(NamedTuple):
    """The newest batch that a task has written, and how many rows it had."""

    batch: int
    rows: int


def marker(batch: int, rows: int) -> OffsetAndMetadata:
    return OffsetAndMetadata(batch + 1, str(rows))


def written_by(session: Session, task_id: str) -> Written | None:
    """What a task wrote last; None if nothing. Waits for a transaction that is being ended."""
    coordinator = Coordinator(session.client, task_id, KeyType.GROUP)
    request = OffsetFetchRequest(group_id=task_id, topics=None, require_stable=True)
    answer = session.run(
        coordinator.call(lambda: request, lambda it: it.error_code, timeout_ms=_TIMEOUT_MS, at_most=_ONE_GROUP_VERSION)
    )
    # A sink may change its topic, and the marker is with the topic of the first row: the newest one counts.
    found = [
        Written(each.committed_offset - 1, int(each.metadata or "0"))
        for topic in answer.topics
        for each in topic.partitions
        if each.committed_offset >= 0
    ]
    return max(found, default=None)


def forget(task_ids: Sequence[str], settings: Mapping[str, str]) -> None:
    """Remove the markers of tasks. What cannot be removed now expires like other groups without members."""
    if not task_ids:
        return
    try:
        with Admin(connection_of(settings)) as admin:
            admin.delete_groups(task_ids)
    except (ClientError, KafkaError) as error:
        _log.warning("markers of a finished write are left to expire: %s", error)


def connection_of(settings: Mapping[str, str]) -> dict[str, str]:
    """Of the settings of a producer, those that all clients have."""
    names = ("bootstrap.servers", "client.id", "request.timeout.ms")
    return {name: settings[name] for name in names if name in settings}
