"""DescribeGroups (15), served in versions 0 to 5.

- v0: state, protocol and members of groups.  v1: throttle time.  v2: throttled clients are answered at once.
- v3: authorized operations.  v4: static members.  v5: flexible.

Each group is asked of the coordinator that owns its shard. Of a group whose shard another broker leads, error 16 is told.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import ask_owners_of_keys
from tidelog.kafka.cluster import CONSUMER_OFFSETS
from tidelog.kafka.wire.messages.describe_groups import DESCRIBE_GROUPS
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedApi:
    return ServedApi(DESCRIBE_GROUPS, parse_versions("0-5"), partial(ask_owners_of_keys, relay, CONSUMER_OFFSETS))
