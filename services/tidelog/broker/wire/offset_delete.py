"""OffsetDelete (47), served in version 0.

- v0: offsets of topics that a group no longer follows are forgotten.

Passed on to the coordinator that owns the group's shard, as JoinGroup is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import by_group
from tidelog.kafka.wire.messages.offset_delete import OFFSET_DELETE
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedFrames

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedFrames:
    return ServedFrames(OFFSET_DELETE, parse_versions("0"), by_group(relay, OFFSET_DELETE))
