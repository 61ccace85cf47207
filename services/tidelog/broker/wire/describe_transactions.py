"""DescribeTransactions (65), served in version 0.

- v0: state, producer, time and partitions of transactions; flexible.

Each transactional id is asked of the coordinator that owns its shard. Of one whose shard another broker leads, error 16 is
told.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import ask_owners_of_keys
from tidelog.kafka.cluster import TRANSACTION_STATE
from tidelog.kafka.wire.messages.describe_transactions import DESCRIBE_TRANSACTIONS
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedApi:
    return ServedApi(DESCRIBE_TRANSACTIONS, parse_versions("0"), partial(ask_owners_of_keys, relay, TRANSACTION_STATE))
