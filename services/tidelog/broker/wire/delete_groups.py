"""DeleteGroups (42), served in versions 0 to 2.

- v0: groups without members go, with their offsets.  v1: throttled clients are answered at once.  v2: flexible.

Each group is asked of the coordinator that owns its shard, as DescribeGroups does.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import ask_owners_of_keys
from tidelog.kafka.cluster import CONSUMER_OFFSETS
from tidelog.kafka.wire.messages.delete_groups import DELETE_GROUPS
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedApi:
    return ServedApi(DELETE_GROUPS, parse_versions("0-2"), partial(ask_owners_of_keys, relay, CONSUMER_OFFSETS))
