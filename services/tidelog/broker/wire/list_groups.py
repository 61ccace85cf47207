"""ListGroups (16), served in versions 0 to 5.

- v0: all groups whose shards this broker leads.  v1: throttle time.  v2: throttled clients are answered at once.
- v3: flexible.  v4: states, and a filter by state.  v5: types, and a filter by type.

All coordinators that own such shards are asked. If one of them cannot be, the answer is error 15: no list is better than
one that lacks groups.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import ask_all_owners
from tidelog.kafka.cluster import CONSUMER_OFFSETS
from tidelog.kafka.wire.messages.list_groups import LIST_GROUPS
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedApi:
    return ServedApi(LIST_GROUPS, parse_versions("0-5"), partial(ask_all_owners, relay, CONSUMER_OFFSETS))
