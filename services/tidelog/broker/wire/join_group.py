"""JoinGroup (11), served in versions 0 to 9.

- v0: a member joins with the protocols that it knows, and is answered when all have joined.
- v1: a rebalance timeout of its own.  v2: throttle time.  v3: throttled clients are answered at once.
- v4: a new member is first told its id, with error 79.  v5: static members.  v6: flexible.
- v7: the protocol's type in answers.  v8: the client says why it joins.  v9: a static leader may skip the assignment.

Passed on to the coordinator that owns the group's shard by the broker that leads the shard; others answer error 16. It may
wait for the other members for up to ten minutes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import by_group
from tidelog.kafka.wire.messages.join_group import JOIN_GROUP
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedFrames

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedFrames:
    return ServedFrames(JOIN_GROUP, parse_versions("0-9"), by_group(relay, JOIN_GROUP, waits_long=True))
