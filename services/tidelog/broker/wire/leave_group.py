"""LeaveGroup (13), served in versions 0 to 5.

- v0: one member goes.  v1: throttle time.  v2: throttled clients are answered at once.
- v3: several members, static ones among them.  v4: flexible.  v5: the client says why.

Passed on to the coordinator that owns the group's shard, as JoinGroup is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import by_group
from tidelog.kafka.wire.messages.leave_group import LEAVE_GROUP
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedFrames

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedFrames:
    return ServedFrames(LEAVE_GROUP, parse_versions("0-5"), by_group(relay, LEAVE_GROUP))
