"""OffsetFetch (9), served in versions 1 to 9.

- v1: the offsets that a group has committed.  v2: for all topics if none is named; an error for all.
- v3: throttle time.  v4: throttled clients are answered at once.  v5: leader epochs.  v6: flexible.
- v7: error 88 for offsets of transactions that are not over, if the client wants stable ones.
- v8: several groups.  v9: the same for the groups that are served here.

Passed on to the coordinator that owns the group's shard, as JoinGroup is; several groups are asked of their owners one
by one. v0, which kept offsets in ZooKeeper, is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import OneKey, ask_owners_of_keys
from tidelog.kafka.cluster import CONSUMER_OFFSETS
from tidelog.kafka.coordination.keys import first_key, only_group
from tidelog.kafka.coordination.splitting import GROUPS_VERSION
from tidelog.kafka.wire.messages.offset_fetch import OFFSET_FETCH, OffsetFetchRequest
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedFrames

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay
    from tidelog.net.served import RequestContext


def served(relay: Relay) -> ServedFrames:
    return ServedFrames(OFFSET_FETCH, parse_versions("1-9"), _OffsetFetch(relay).serve)


class _OffsetFetch:
    def __init__(self, relay: Relay) -> None:
        self._relay = relay
        self._one_group = OneKey(relay, OFFSET_FETCH, CONSUMER_OFFSETS)

    def serve(self, context: RequestContext, frame: memoryview, at: int) -> None:
        version = context.version
        if version >= GROUPS_VERSION:
            group = only_group(frame, at)
        else:
            group = first_key(frame, at, flexible=version in OFFSET_FETCH.flexible)
        if group is not None:
            self._one_group.pass_on(group, context, frame, at)
            return
        request = OffsetFetchRequest.decode(version, frame, at)
        self._relay.answer_later(context, ask_owners_of_keys(self._relay, CONSUMER_OFFSETS, context, request))
