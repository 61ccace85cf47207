"""SyncGroup (14), served in versions 0 to 5.

- v0: the leader hands in the assignment, and every member gets its part.
- v1: throttle time.  v2: throttled clients are answered at once.  v3: static members.  v4: flexible.
- v5: type and name of the protocol, which are checked and told.

Passed on to the coordinator that owns the group's shard, as JoinGroup is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import by_group
from tidelog.kafka.wire.messages.sync_group import SYNC_GROUP
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedFrames

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedFrames:
    return ServedFrames(SYNC_GROUP, parse_versions("0-5"), by_group(relay, SYNC_GROUP, waits_long=True))
