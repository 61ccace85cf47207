"""OffsetCommit (8), served in versions 1 to 9.

- v1: offsets of a group, with a time for each.  v2: how long they are to be kept in place of that, which is ignored.
- v3: throttle time.  v4: throttled clients are answered at once.  v5: no more word of how long.
- v6: leader epochs.  v7: static members.  v8: flexible.  v9: the same for the groups that are served here.

Passed on to the coordinator that owns the group's shard, as JoinGroup is. v0, which kept offsets in ZooKeeper, and the
groups that brokers assign (KIP-848) are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import by_group
from tidelog.kafka.wire.messages.offset_commit import OFFSET_COMMIT
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedFrames

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedFrames:
    return ServedFrames(OFFSET_COMMIT, parse_versions("1-9"), by_group(relay, OFFSET_COMMIT, may_be_empty=True))
