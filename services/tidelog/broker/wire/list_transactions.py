"""ListTransactions (66), served in versions 0 and 1.

- v0: all transactions whose shards this broker leads, with filters by state and producer; flexible.
- v1: a filter by how long they have been open.

All coordinators that own such shards are asked, as ListGroups does.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.wire.relayed import ask_all_owners
from tidelog.kafka.cluster import TRANSACTION_STATE
from tidelog.kafka.wire.messages.list_transactions import LIST_TRANSACTIONS
from tidelog.kafka.wire.versions import parse_versions
from tidelog.net.served import ServedApi

if TYPE_CHECKING:
    from tidelog.broker.shell.relay import Relay


def served(relay: Relay) -> ServedApi:
    return ServedApi(LIST_TRANSACTIONS, parse_versions("0-1"), partial(ask_all_owners, relay, TRANSACTION_STATE))
