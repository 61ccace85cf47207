"""Heartbeat (12), served in versions 0 to 4.

- v0: a member is alive, and hears whether its group rebalances.
- v1: throttle time.  v2: throttled clients are answered at once.  v3: static members.  v4: flexible.

Passed on to the coordinator that owns the group's shard, as JoinGroup is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import by_group
from tidelog.kafka.wire.messages.heartbeat import HEARTBEAT
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedFrames

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedFrames:
    return ServedFrames(HEARTBEAT, parse_versions("0-4"), by_group(relay, HEARTBEAT))
